"""Is one group of scores higher or lower than another?  The AUC with its interval.

The interval is Wilson's score interval for a proportion, with as many independent records as give DeLong's variance.
It stays inside 0…1, has a width at AUC 0 and 1 and where all scores are tied, and turned around it is a test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from torch import Tensor

from ..errors import InputRefused
from ..inference import placements


@dataclass(frozen=True)
class Interval:
    """An AUC with its confidence interval and standard error, from n forgotten and m never-seen records.

    `null_se` is the standard error if both groups were alike and without ties; `effective` the number of independent
    records that a plain proportion would need for the same precision.
    """

    value: float
    low: float
    high: float
    se: float
    n: int
    m: int
    null_se: float
    effective: float

    def contains(self, value: float = 0.5) -> bool:
        """Whether the interval covers a value."""
        return self.low <= value <= self.high


def auc_interval(
    forget: Tensor, control: Tensor, *, level: float = 0.95, groups: tuple[Tensor, Tensor] | None = None
) -> Interval:
    """Probability that a forgotten record scores above a never-seen one (ties count half), with its interval.

    `groups` holds the labels of both: only pairs of the same class are compared, each class counts by its forgotten
    records, and forgotten records of a class without never-seen ones are left out.

    >>> import torch
    >>> found = auc_interval(torch.arange(100.0) + 10, torch.arange(100.0))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.595, 0.514, 0.671)
    """
    strata = _strata(forget, control, groups)
    n, m = sum(len(f) for f, _ in strata), sum(len(c) for _, c in strata)
    value = variance = null = 0.0
    for f, c in strata:
        above, below = placements(f, c), 1 - placements(c, f)
        weight = len(f) / n
        value += weight * float(above.mean())
        variance += weight**2 * (_variance(above, len(f) / n) + _variance(below, len(c) / m))
        null += (weight * null_se(len(f), len(c))) ** 2
    few = min(n, m)
    shrunk = (few * value + 0.5) / (few + 1)
    effective = shrunk * (1 - shrunk) / variance
    low, high = _wilson(value, effective, level)
    return Interval(value, low, high, math.sqrt(variance), n, m, math.sqrt(null), effective)


def checked(forget: Tensor, control: Tensor) -> tuple[Tensor, Tensor]:
    """Both groups of scores, in double; refused when one is empty or holds what is not a number."""
    if not (len(forget) and len(control)):
        raise InputRefused("There is nothing to compare.", "Give records of both groups.")
    if bool(forget.isnan().any() or control.isnan().any()):
        raise InputRefused("Some scores are not a number.", "Check that the network's outputs are finite.")
    return forget.double(), control.double()


def null_se(n: int, m: int) -> float:
    """Standard error of the AUC of two groups that do not differ.

    >>> round(null_se(5, 1000), 4)
    0.1295
    """
    return math.sqrt((n + m + 1) / (12 * n * m))


def _strata(forget: Tensor, control: Tensor, groups: tuple[Tensor, Tensor] | None) -> list[tuple[Tensor, Tensor]]:
    strata = [checked(forget, control)]
    if groups is not None:
        shared = [k for k in groups[0].unique() if bool((groups[1] == k).any())]
        strata = [(forget[groups[0] == k], control[groups[1] == k]) for k in shared]
    if not strata:
        raise InputRefused("The groups share no class.", "Give never-seen records of the classes to be forgotten.")
    return strata


def _variance(places: Tensor, prior: float) -> float:
    """Variance of a mean placement; a part of one imagined record, at both ends alike, keeps it from vanishing."""
    mean, n = float(places.mean()), len(places)
    squares = float(((places - mean) ** 2).sum()) + prior * (mean**2 + (1 - mean) ** 2) / 2
    return squares / (n - 1 + prior) / n


def _wilson(value: float, n: float, level: float) -> tuple[float, float]:
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    middle = (value + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (value * (1 - value) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)
