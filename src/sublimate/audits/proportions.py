"""Shares with exact intervals: how many forgotten records stand out while few never-seen ones do?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..errors import InputRefused
from .intervals import checked


@dataclass(frozen=True)
class Proportion:
    """k of n, with its exact (Clopper–Pearson) interval."""

    value: float
    low: float
    high: float
    k: int
    n: int


@dataclass(frozen=True)
class Detection:
    """Share of the forgotten and of the never-seen records beyond a threshold."""

    tpr: Proportion
    fpr: Proportion
    threshold: float


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Proportion:
    """Exact two-sided interval of a proportion.

    >>> round(clopper_pearson(0, 100).high, 4)
    0.0362
    """
    if not 0 <= k <= n or n == 0:
        raise InputRefused(f"{k} of {n} is no proportion.", "Give at least one record and count each at most once.")
    tail = (1 - level) / 2
    return Proportion(k / n, float(lowest(k, n, tail)), float(highest(k, n, tail)), k, n)


def tpr_at_fpr(forget: Tensor, control: Tensor, fpr: float, *, below: bool = False, level: float = 0.95) -> Detection:
    """Share of the forgotten records found when at most a share `fpr` of the never-seen ones is found too.

    Found are those strictly above the threshold; with `below` those strictly below it (a scar).  The interval of the
    false-positive rate takes the threshold as given.

    >>> from torch import tensor
    >>> tpr_at_fpr(tensor([3.0, 9.0]), tensor([1.0, 2.0, 4.0]), 0.01).tpr.value
    0.5
    """
    sign = -1.0 if below else 1.0
    f, c = (sign * x for x in checked(forget, control))
    allowed = math.floor(fpr * len(c) + 1e-9)  # .29 · 100 is 28.999…
    if not 0 <= allowed < len(c):
        raise InputRefused(f"A false-positive rate of {fpr} needs no threshold.", "Give a number from 0 to below 1.")
    threshold = c.sort(descending=True).values[allowed]
    tpr, fpr_found = (clopper_pearson(int((x > threshold).sum()), len(x), level) for x in (f, c))
    return Detection(tpr, fpr_found, sign * float(threshold))


def lowest(k: Any, n: int, tail: float) -> Any:
    """The smallest proportion that yields k or more of n with probability `tail`."""
    from scipy.special import betaincinv  # type: ignore[import-untyped, unused-ignore]

    k = np.asarray(k)
    return np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, tail))


def highest(k: Any, n: int, tail: float) -> Any:
    """The largest proportion that yields k or fewer of n with probability `tail`."""
    return 1 - lowest(n - np.asarray(k), n, tail)
