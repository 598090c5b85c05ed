"""The ε that an attack on the scores proves: a lower bound, with the largest value so few records could give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputRefused
from ..randomness import stream
from .intervals import checked
from .proportions import Proportion, clopper_pearson, highest, lowest


@dataclass(frozen=True)
class Epsilon:
    """Lower bound of ε, the largest bound that so many records could give, and the attack on the held-out half."""

    value: float
    ceiling: float
    tpr: Proportion
    fpr: Proportion
    below: bool


def epsilon_lower(k_true: int, n_true: int, k_false: int, n_false: int, alpha: float = 0.05) -> float:
    """ε ≥ log(TPR_low / FPR_up), at least 0, with confidence 1 − α.

    Each of the two rates may err with probability α/2, on the side that counts: the bounds are the ends of two-sided
    Clopper–Pearson intervals of level 1 − α.  500 of 500 against 0 of 500 at α = .01 give
    log(q / (1 − q)) with q = .005^(1/500).

    >>> round(epsilon_lower(500, 500, 0, 500, 0.01), 4)
    4.5419
    """
    return max(0.0, float(_log_ratio(k_true, n_true, k_false, n_false, alpha)))


def epsilon_ceiling(n: int, m: int, alpha: float = 0.05) -> float:
    """The largest bound that n forgotten and m never-seen records, all told apart, could give.

    >>> round(epsilon_ceiling(1000, 1000), 2)
    5.6
    """
    return epsilon_lower(n, n, 0, m, alpha)


def epsilon_bound(forget: Tensor, control: Tensor, alpha: float = 0.05, seed: int = 0) -> Epsilon:
    """ε that a threshold proves: chosen (with its direction) on one half of both groups, counted once on the other."""
    forget, control = checked(forget, control)
    if min(len(forget), len(control)) < 2:
        raise InputRefused("A bound on ε needs two halves.", "Give at least two records of each group.")
    f_choose, f_judge = _halves(forget, seed, "forget")
    c_choose, c_judge = _halves(control, seed, "control")
    sign, threshold = max(
        ((sign, *_best_threshold(sign * f_choose, sign * c_choose, alpha)) for sign in (1.0, -1.0)),
        key=lambda found: found[2],
    )[:2]
    k_true, k_false = (int((sign * x > threshold).sum()) for x in (f_judge, c_judge))
    return Epsilon(
        epsilon_lower(k_true, len(f_judge), k_false, len(c_judge), alpha),
        epsilon_ceiling(len(f_judge), len(c_judge), alpha),
        clopper_pearson(k_true, len(f_judge), 1 - alpha),
        clopper_pearson(k_false, len(c_judge), 1 - alpha),
        sign < 0,
    )


def _best_threshold(f: Tensor, c: Tensor, alpha: float) -> tuple[float, float]:
    """Halfway between two scores, where the bound is largest: new records are most likely to fall on the same side."""
    values = torch.cat([f, c]).unique()
    middle = (values[1:] + values[:-1]) / 2
    between = torch.cat([torch.where(middle.isfinite(), middle, values[:-1]), values[-1:]])  # the last finds nothing
    k_true, k_false = (len(x) - torch.searchsorted(x.sort().values, between, right=True).numpy() for x in (f, c))
    bounds = _log_ratio(k_true, len(f), k_false, len(c), alpha)
    best = int(np.argmax(bounds))
    return float(between[best]), float(bounds[best])


def _halves(x: Tensor, seed: int, name: str) -> tuple[Tensor, Tensor]:
    order = torch.randperm(len(x), generator=stream(seed, "epsilon", name))
    return x[order[: len(x) // 2]], x[order[len(x) // 2 :]]


def _log_ratio(k_true: Any, n_true: int, k_false: Any, n_false: int, alpha: float) -> Any:
    with np.errstate(divide="ignore"):  # no record found: −∞
        return np.log(lowest(k_true, n_true, alpha / 2)) - np.log(highest(k_false, n_false, alpha / 2))
