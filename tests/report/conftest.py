from __future__ import annotations

from collections.abc import Callable

import pytest
from made_results import lay_down

from sublimate.audits.result import Audit, Compute, Gate, Skipped, Test, Worst
from sublimate.bench.results import Results, read

MakeAudit = Callable[..., Audit]
CURVES = {
    "edges": [-1.0, 0.0, 1.0],
    "shares": {
        "forgotten before": [0.1, 0.9], "never seen before": [0.5, 0.5],
        "forgotten after": [0.4, 0.6], "never seen after": [0.5, 0.5],
    },
    "false alarms": [0.001, 0.1, 1.0],
    "found": {"before": [0.0, 0.4, 1.0], "after": [0.0, 0.1, 1.0]},
}  # fmt: skip
HARM = {
    "accuracy": {"before": 90.0, "after": 89.25},
    "accuracy near": {"before": 99.0, "after": 97.5},
    "exposure of retained": {"before": 0.6, "after": 0.58},
    "calibration error": {"before": 0.05, "after": 0.0625},
    "accuracy by class": {"cat": {"before": 80.0, "after": 0.0}, "ship": {"before": 95.0, "after": 96.0}},
}


def tests_of(outcome: str) -> list[Test]:
    """One of each kind: a main test, one that is only reported, one of the second tier."""
    main = Test(
        name="AUC, confidence", tier=1, value=0.6, low=0.55, high=0.65, n_forget=400, n_control=1000,
        p_different=0.0004, p_alike=0.25, outcome=outcome,
    )  # fmt: skip
    found = Test(
        name="found at 1.0% false alarms, above", tier=1, value=0.025, low=0.01, high=0.05, n_forget=400,
        n_control=1000, outcome="reported", detail={"false alarms": 0.01, "false alarms up to": 0.0184},
    )  # fmt: skip
    back = Test(
        name="Return of the class, 5 shown", tier=2, value=-2.5, n_forget=97, n_control=97, p_different=1.0,
        outcome="reported", detail={"says": "after the same updates less is known."},
    )  # fmt: skip
    return [main, found, back]


@pytest.fixture
def made_up() -> MakeAudit:
    """An audit of any verdict, nothing of it measured."""

    def make(verdict: str = "FAIL", **changes: object) -> Audit:
        outcome = {"PASS": "alike", "FAIL": "different", "INCONCLUSIVE": "unresolved"}[verdict]
        facts = {
            "verdict": verdict,
            "tier": 1,
            "reasons": ["A first reason.", "A second reason."],
            "tests": tests_of(outcome),
            "gates": [
                Gate(name="fair attack", passed=True, says="It is fair."),
                Gate(name="enough records", passed=verdict != "INCONCLUSIVE", says="So many records."),
            ],
            "delta": 0.05,
            "smallest_detectable": 0.044,
            "harm": HARM,
            "mia": {"before": 61.25, "after": 3.0, "fitted_on": 2800},
            "curves": CURVES,
            "worst": [
                Worst(pseudonym="record 1", label="cat", phi=9.25, share_above=0.0),
                Worst(pseudonym="record 2", label="cat", phi=-7.5, share_above=0.995),
            ],
            "not_tested": ["something that tier 2 looks at"],
            "skipped": [Skipped(what="relearning", why="There are too few records.")],
            "compute": Compute(images=12345, steps=0, seconds=61.26),
            "split": "f00dcafe",
            "n": {"forget": 400, "control": 1000, "retain": 2000},
        }
        return Audit(**(facts | changes))

    return make


@pytest.fixture(scope="session")
def made_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Results of all kinds, many methods and three seeds, nothing of them measured."""
    return read(lay_down(tmp_path_factory.mktemp("results")))
