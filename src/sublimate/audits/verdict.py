"""PASS where equality was shown, FAIL where a difference was shown, INCONCLUSIVE otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from .result import Gate, Test, Verdict

MAIN = "AUC, "  # of the tests that must all show equality
BESIDE = "clean reference"  # a gate for the reference alone: what is refused is not used


def decide(tests: Sequence[Test], gates: Sequence[Gate], hidden: float | None = None) -> tuple[Verdict, list[str]]:
    """The verdict and its reasons, most telling first; `hidden` is the share that could hide within δ.

    A difference that was shown counts even where equality could not have been; only an unfair attack shows nothing.
    """
    if unfair := [gate.says for gate in gates if gate.name == "fair attack" and not gate.passed]:
        return "INCONCLUSIVE", unfair
    if told := [test for test in tests if test.outcome == "different"]:
        return "FAIL", [reason(test) for test in sorted(told, key=_telling)]
    if closed := [gate.says for gate in gates if not gate.passed and gate.name != BESIDE]:
        return "INCONCLUSIVE", closed
    main = [test for test in tests if is_main(test)]
    if open_ := [reason(test) for test in main if test.outcome != "alike"]:
        return "INCONCLUSIVE", open_
    if not main:
        return "INCONCLUSIVE", ["No score was looked at."]
    return "PASS", [_passed(len(main)), *([_could_hide(hidden)] if hidden else [])]


def _passed(scores: int) -> str:
    return f"By each of {scores} scores the forgotten records are, as a crowd, like never-seen ones within δ."


def _could_hide(share: float) -> str:
    """A share q of records as before among erased ones moves a mean AUC by q times what the original showed."""
    return f"That is no word on each record: about {share:.0%} of them could be as they were, and the crowd within δ."


def is_main(test: Test) -> bool:
    """Whether equality by this test is needed for a PASS."""
    return test.name.startswith(MAIN)


def reason(test: Test) -> str:
    """What one test says, in a sentence."""
    if not is_main(test):
        return f"{test.name}: {test.detail.get('says', _figure(test))}"
    name, figure = test.name.removeprefix(MAIN), _figure(test)
    if test.outcome == "unresolved":
        return f"By {name} neither equality nor a difference is shown ({figure})."
    if test.outcome == "alike":
        return f"By {name} the forgotten records are like never-seen ones ({figure})."
    if _value(test) > 0.5:
        return f"A trace: by {name} the forgotten records are still known better than never-seen ones ({figure})."
    return f"A scar: by {name} the forgotten records stand out below never-seen ones ({figure})."


def _telling(test: Test) -> tuple[bool, float]:
    """Main tests first, those furthest from .5 before the others, which keep their order."""
    return (False, -abs(_value(test) - 0.5)) if is_main(test) else (True, 0.0)


def _value(test: Test) -> float:
    return 0.5 if test.value is None else test.value


def _figure(test: Test) -> str:
    if test.value is None:
        return "no figure"
    span = "" if test.low is None or test.high is None else f", {test.low:.3f} to {test.high:.3f}"
    return f"{test.name.split(',')[0]} {test.value:.3f}{span}"
