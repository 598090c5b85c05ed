"""Forgotten records that are odd by nature (say, mislabelled ones): no network treats them like never-seen ones."""

from __future__ import annotations

from collections.abc import Sequence

from .population import SURE, Compared
from .result import Gate, Test
from .verdict import MAIN

BELOW_HALF = (MAIN, "Relearning, ", "RMIA")  # a scar by these may be nature; a trace is a trace
EITHER_WAY = ("Classes apart, ", "Membership in the features", "Neighbourhood, ", "Extreme records")
LABEL_FREE = ("entropy", "agreement of views")  # odd records may also be surer by these
SAYS = (
    "The forgotten records differ from the never-seen ones by nature: {who} that they are known less than those. Tests "
    "that compare the two show neither that the records were erased nor that they were not."
)


def odd_scores(original: Compared, references: Sequence[Compared]) -> list[str]:
    """Scores by which a clean reference, or the original where there is none, is shown to know the records less.

    The original was trained on them: what it still knows less than never-seen ones is harder by nature.
    """
    witnesses = references or [original]
    told = [name for one in witnesses for name in one.different(SURE) if one.found[name].value < 0.5]
    return list(dict.fromkeys(told))


def apart_from_nature(
    tests: Sequence[Test], original: Compared, references: Sequence[Compared], delta: float
) -> tuple[list[Test], list[Gate]]:
    """Differences that nature may have made are unresolved; what goes beyond it stays.

    And a gate closes: where even a clean network knows the records less, being like never-seen ones is no sign of
    erasure.  A network that still holds some of them comes nearer to that than one that never saw any.
    """
    if not odd_scores(original, references):
        return list(tests), []
    natural = [test for test in tests if test.outcome == "different" and _may_be_nature(test, references, delta)]
    who = "networks that never saw them show" if references else "already the original shows"
    gate = Gate(name="same kind", passed=False, says=SAYS.format(who=who))
    return [t.model_copy(update={"outcome": "unresolved"}) if t in natural else t for t in tests], [gate]


def _may_be_nature(test: Test, references: Sequence[Compared], delta: float) -> bool:
    score, value = test.name.removeprefix(MAIN), 0.5 if test.value is None else test.value
    if test.name.startswith("ε"):
        return test.detail.get("direction") == "below"
    if test.name.startswith(EITHER_WAY) or score in LABEL_FREE:
        return True
    if not test.name.startswith(BELOW_HALF) or value >= 0.5:
        return False
    usual = [one.found[score].value for one in references if score in one.found]
    return not usual or test.high is None or test.high >= min(usual) - delta
