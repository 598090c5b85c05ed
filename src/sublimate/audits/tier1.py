"""Tier 1, from what the original and the erased network say; pure functions of their outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .apart import apart_tests
from .chance import chance_alike, estimated_se, rank_correlation
from .gates import (
    MOST_DELTA,
    enough_records,
    fair_attack,
    fair_control,
    members_seen,
    something_to_erase,
    still_works,
    tolerance,
)
from .harm import Parts
from .population import ALPHA, SCORERS, Compared, Scorer, compare, population_tests
from .result import Gate, Test
from .statistics import detectable
from .tails import class_tests, tail_tests


@dataclass(frozen=True)
class Crowd:
    """Tests and gates of tier 1, δ, the smallest leak that could be seen, how often no leak would be called alike
    with so many records, and what the original showed."""

    tests: list[Test]
    gates: list[Gate]
    delta: float | None
    detectable: float | None
    chance: float | None
    original: Compared

    @property
    def hidden(self) -> float | None:
        """The share of the records that could be as they were while the crowd stays within δ."""
        return self.delta and self.delta / self.original.excess


def look_at_crowd(
    before: Parts,
    after: Parts,
    gone: Tensor,
    seed: int = 0,
    scorers: Mapping[str, Scorer] = SCORERS,
    classes: Sequence[str] = (),
) -> Crowd:
    """Compare forgotten with never-seen records; `gone` are the wholly forgotten classes."""
    was, now = (compare(out["forget"], out["control"], scorers) for out in (before, after))
    delta, whole = tolerance(was), bool(torch.isin(after["forget"].labels, gone).all())
    control = after["control"].where(torch.isin(after["control"].labels, after["forget"].labels))
    gates = [
        fair_attack(control, seed, scorers),
        fair_control(after["forget"], after["control"]),
        # Of whole classes no record may be known, and it is asked directly whether they are.
        *([] if whole else [members_seen(after["retain"], after["never"], scorers)]),
        still_works(before, after, gone),
        something_to_erase(was),
        enough_records(delta or MOST_DELTA, now.null_se, len(scorers)),
    ]
    tests = [
        *population_tests(now, delta or MOST_DELTA),
        *apart_tests(after["forget"], after["control"], delta or MOST_DELTA, classes, scorers),
        *tail_tests(after["forget"], after["control"], seed),
        *class_tests(after["never"], gone),
    ]
    least = detectable(now.null_se, alpha=ALPHA / len(scorers))
    found = estimated_se(after["forget"].labels, control.labels)
    chance = chance_alike(delta, now.null_se, rank_correlation(control, scorers), found) if delta else None
    return Crowd(tests, gates, delta, least, chance, was)
