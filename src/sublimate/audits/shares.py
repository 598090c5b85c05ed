"""Do two groups differ in a share, class by class?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from torch import Tensor

from ..errors import InputRefused


@dataclass(frozen=True)
class Shares:
    """Share of the forgotten records minus that of never-seen ones of the same classes, in points, and its p-value."""

    points: float
    p: float
    n: int
    m: int


def share_difference(mine: Tensor, theirs: Tensor, groups: tuple[Tensor, Tensor]) -> Shares:
    """Mantel and Haenszel's test of marked against unmarked records, with correction for continuity.

    `groups` holds the classes of both: a class that is frequent on one side, and often marked, is no difference.

    >>> from torch import ones, tensor
    >>> marked = tensor([True, False])
    >>> share_difference(marked, marked, (ones(2), ones(2)))
    Shares(points=0.0, p=1.0, n=2, m=2)
    """
    strata = [
        (mine[groups[0] == k], theirs[groups[1] == k]) for k in groups[0].unique() if bool((groups[1] == k).any())
    ]
    if not strata:
        raise InputRefused("The groups share no class.", "Give never-seen records of the classes to be forgotten.")
    n, m = (sum(len(pair[side]) for pair in strata) for side in (0, 1))
    points = excess = variance = 0.0
    for a, b in strata:
        total, hits = len(a) + len(b), int(a.sum()) + int(b.sum())
        points += 100 * len(a) / n * (int(a.sum()) / len(a) - int(b.sum()) / len(b))
        excess += int(a.sum()) - len(a) * hits / total
        variance += len(a) * len(b) * hits * (total - hits) / (total**2 * (total - 1))
    z = max(0.0, abs(excess) - 0.5) / math.sqrt(variance) if variance else 0.0
    return Shares(points, 2 * NormalDist().cdf(-z), n, m)
