"""Tier 2: with the weights in hand, after a few updates, a step away, beside networks that never saw the records."""

from __future__ import annotations

from ..errors import InputRefused
from .beside import neighbour_classes, record_by_record
from .inside import classes_in_features, membership_in_features, unchanged_weights
from .looking import Hint, Look
from .outside import nearby, relearned
from .population import ALPHA, SURE
from .result import Test
from .statistics import holm

NEEDED = (unchanged_weights, membership_in_features, relearned)  # without them no network is passed
ATTACKS = (*NEEDED, classes_in_features, nearby, record_by_record, neighbour_classes)


def look_closer(look: Look) -> list[Test]:
    """The tests of every attack; what cannot be done is noted, with the reason."""
    hints = list[Hint]()
    for attack in ATTACKS:
        try:
            hints += attack(look)
        except InputRefused as refusal:
            note = look.fail if attack in NEEDED else look.skip
            note(attack.__name__.replace("_", " "), str(refusal))
    return corrected(hints)


def corrected(hints: list[Hint]) -> list[Test]:
    """p-values corrected over all attacks: a false alarm in one of a hundred audits, not in each of twenty tests.

    As in the first tier an AUC that is shown to lie within δ is alike, however sure it is that it is not .5.
    """
    adjusted = iter(holm([hint.p for hint in hints if hint.p is not None]))
    tests = []
    for hint in hints:
        p, outcome, alike = None if hint.p is None else next(adjusted), hint.test.outcome, hint.test.p_alike
        if alike is not None and alike < ALPHA:
            outcome = "alike"
        elif p is not None and p < SURE and hint.counts:
            outcome = "different"
        tests.append(hint.test.model_copy(update={"p_different": p, "outcome": outcome}))
    return tests
