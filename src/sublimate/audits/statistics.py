"""What an AUC and its size of sample allow to say: equal, different, or neither."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from ..errors import InputRefused
from .intervals import Interval, null_se

NORMAL = NormalDist()
RESOLVED = 2.93  # z(.95) + z(.90): standard errors that δ must span for equivalence to be shown four times out of five


def difference(found: Interval) -> float:
    """Two-sided p-value of "both groups are alike" (Mann and Whitney's test)."""
    return 2 * NORMAL.cdf(-abs(found.value - 0.5) / found.null_se)


def tost(found: Interval, delta: float) -> float:
    """p-value of "the AUC is δ or more away from .5": small where equivalence is shown (two one-sided tests)."""
    if not 0 < delta < 0.5:
        raise InputRefused(f"delta={delta} is no distance from an AUC of .5.", "Give a number between 0 and .5.")
    effective = min(found.effective, 0.25 / found.null_se**2)  # never surer than data without ties
    se = math.sqrt((0.5 - delta) * (0.5 + delta) / effective)  # at either end
    return NORMAL.cdf((abs(found.value - 0.5) - delta) / se)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: below α for all that may be called shown while the chance of one false call stays α.

    >>> holm([0.03, 0.01, 0.5])
    [0.06, 0.03, 0.5]
    """
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = worst
    return adjusted


def smallest_detectable(n: int, m: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Smallest |AUC − .5| that a two-sided test finds with this power; None when no leak is large enough.

    >>> round(smallest_detectable(100, 1000), 3), smallest_detectable(1, 1000)
    (0.085, None)
    """
    return detectable(null_se(n, m), power, alpha)


def detectable(se: float, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The same for a standard error under "both groups are alike".

    >>> round(detectable(0.01), 4), detectable(0.2)
    (0.028, None)
    """
    found = (NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)) * se
    return found if found <= 0.5 else None


def resolvable(delta: float, se: float) -> bool:
    """Whether equivalence within δ could be shown at all; give `null_se`, which no tie makes look better."""
    return RESOLVED * se <= delta
