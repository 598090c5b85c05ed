"""The decision table, whole; and what is said."""

from itertools import product

import pytest

from sublimate.audits.result import Gate, Test
from sublimate.audits.verdict import decide, is_main, reason

GATES = ("fair attack", "fair control", "still works", "something to erase", "enough records", "clean reference")


def found(name, outcome, value=0.5, **more):
    return Test(name=name, tier=1, value=value, n_forget=9, n_control=9, outcome=outcome, **more)


def expected(open_gates, main, beside):
    """Written down again, the long way."""
    if "fair attack" not in open_gates:
        return "INCONCLUSIVE"
    if "different" in (*main, *beside):
        return "FAIL"
    needed = {"fair control", "still works", "something to erase", "enough records"}
    if main and needed <= open_gates and all(outcome == "alike" for outcome in main):
        return "PASS"
    return "INCONCLUSIVE"


@pytest.mark.parametrize("main", [*product(("alike", "different", "unresolved", "reported"), repeat=2), ()])
def test_the_whole_table(main):
    verdicts = set()
    for passed in product((True, False), repeat=len(GATES)):
        open_gates = {name for name, is_open in zip(GATES, passed, strict=True) if is_open}
        gates = [Gate(name=n, passed=n in open_gates, says=f"{n} says.") for n in GATES]
        for beside in product(("alike", "different", "unresolved", "reported"), repeat=1):
            tests = [found(f"AUC, {i}", o) for i, o in enumerate(main)] + [found("RMIA", o) for o in beside]
            verdict, reasons = decide(tests, gates)
            assert verdict == expected(open_gates, main, beside)
            assert reasons and all(isinstance(text, str) and text for text in reasons)
            if verdict == "INCONCLUSIVE" and "fair attack" not in open_gates:
                assert reasons == ["fair attack says."]
            verdicts.add(verdict)
    assert ("PASS" in verdicts) == (main == ("alike", "alike"))


def test_without_gates_and_tests_nothing_is_passed():
    assert decide([], []) == ("INCONCLUSIVE", ["No score was looked at."])
    assert decide([found("RMIA", "alike")], [])[0] == "INCONCLUSIVE"


def test_a_pass_says_how_many_could_hide_within_the_tolerance():
    assert decide([found("AUC, loss", "alike")], [], 0.05 / 0.2) == (
        "PASS",
        [
            "By each of 1 scores the forgotten records are, as a crowd, like never-seen ones within δ.",
            "That is no word on each record: about 25% of them could be as they were, and the crowd within δ.",
        ],
    )


def test_classes_that_lie_apart_fail_although_the_crowd_is_alike():
    tests = [found("AUC, loss", "alike"), found("Classes apart, loss", "different", detail={"says": "cat."})]
    assert decide(tests, []) == ("FAIL", ["Classes apart, loss: cat."])


def test_the_most_telling_reason_comes_first_and_the_order_of_the_others_stays():
    tests = [
        found("Unchanged weights", "different", 1.0, detail={"says": "all."}),
        found("AUC, loss", "different", 0.6),
        found("AUC, entropy", "different", 0.2),
        found("AUC, margin", "alike", 0.5),
        found("RMIA", "different", 0.9),
    ]
    reasons = decide(tests, [])[1]
    assert [r.split(" (")[0] for r in reasons] == [
        "A scar: by entropy the forgotten records stand out below never-seen ones",
        "A trace: by loss the forgotten records are still known better than never-seen ones",
        "Unchanged weights: all.",
        "RMIA: RMIA 0.900",
    ]


def test_all_that_is_missing_is_said():
    gates = [Gate(name=n, passed=n == "fair attack", says=n) for n in GATES]
    assert decide([found("AUC, loss", "alike")], gates) == (
        "INCONCLUSIVE",
        ["fair control", "still works", "something to erase", "enough records"],
    )
    open_ = [found("AUC, loss", "alike"), found("AUC, margin", "unresolved", 0.55, low=0.4, high=0.7)]
    assert decide(open_, []) == (
        "INCONCLUSIVE",
        ["By margin neither equality nor a difference is shown (AUC 0.550, 0.400 to 0.700)."],
    )


def test_sentences():
    assert reason(found("AUC, loss", "alike")) == "By loss the forgotten records are like never-seen ones (AUC 0.500)."
    assert reason(found("RMIA", "reported", None)) == "RMIA: no figure"
    assert reason(found("AUC, loss", "different", None)).endswith("(no figure).")
    assert is_main(found("AUC, loss", "alike")) and not is_main(found("Canaries, AUC", "alike"))
