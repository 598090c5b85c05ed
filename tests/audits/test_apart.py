"""Class by class: Q worked by hand, its size, and that traces and scars no longer cancel."""

from collections import Counter

import pytest
import torch
from scipy.stats import chi2
from torch import nn

from sublimate.audits.apart import ClassAuc, apart_tests, class_aucs, p_apart
from sublimate.audits.outputs import Outputs
from sublimate.audits.population import SCORERS
from sublimate.audits.tier1 import look_at_crowd
from sublimate.audits.verdict import decide

NONE = torch.tensor([], dtype=torch.long)
PHI = {"confidence": SCORERS["confidence"]}


def drawn(n, seed, shift=None, classes=10):
    """Logits of n records, as many of each class; `shift` gives each class's own addition to the label's."""
    g, y = torch.Generator().manual_seed(seed), torch.arange(n) % classes
    z = torch.randn(3, n, classes, generator=g) * 0.5
    z[1:] = z[0] + 0.5 * torch.randn(2, n, classes, generator=g)
    more = torch.zeros(n) if shift is None else shift(y)
    return Outputs(*(z + (2 + torch.randn(n, generator=g) + more)[:, None] * nn.functional.one_hot(y, classes)), y)


def crowd(n, m, seed, shift=None):
    control = drawn(m, 3 * seed + 1)
    return {
        "forget": drawn(n, 3 * seed, shift),
        "control": control,
        "never": control,
        "retain": drawn(50, 3 * seed + 2, lambda y: torch.full((len(y),), 2.0)),
    }


def verdict(shift, seed, n=1500, m=2000):
    before = crowd(n, m, seed, lambda y: torch.full((len(y),), 0.45))
    found = look_at_crowd(before, crowd(n, m, seed + 99, shift), NONE, seed)
    return decide(found.tests, found.gates)


def test_q_by_hand():
    # Beyond δ = .05 by two standard errors above and one below: Q = 4 + 1.  A coin falls heads with chance
    # h = .5 + Φ(−2) = .5227501: p = 2 h (1 − h) P(χ²₁ > 5) + h² P(χ²₂ > 5) = .4989648 · .0253473 + .2732677 · .0820850.
    found = [ClassAuc(0, 20, 20, 0.65, 0.05), ClassAuc(1, 20, 20, 0.4, 0.05)]
    assert p_apart(found, 0.05) == pytest.approx(0.0350786, abs=1e-6)
    assert p_apart(found, 0.2) == 1.0
    # Without a tolerance it is the plain test: Q = 9 + 4 with two degrees of freedom.
    assert p_apart(found, 0.0) == pytest.approx(chi2.sf(13, 2))


def test_classes_with_few_records_are_left_out_and_one_class_is_no_crowd_of_classes(draw):
    labels = [0] * 12 + [1] * 10 + [2] * 9
    forget, control = draw(0, 0, labels=labels), draw(0, 1, labels=labels + [2] * 30)
    assert [(one.label, one.n, one.m) for one in class_aucs(PHI["confidence"], forget, control)] == [
        (0, 12, 12), (1, 10, 10),
    ]  # fmt: skip
    only = forget.where(forget.labels != 1)
    assert apart_tests(only, control, 0.05, scorers=PHI) == []


def test_the_classes_furthest_off_are_named(draw):
    y = torch.arange(400) % 4
    forget, control = draw(0, 0, labels=y), draw(0, 1, labels=y)
    forget.z[y == 2, 2] += 1.0
    (test,) = apart_tests(forget, control, 0.05, ("ant", "bee", "cat", "dog"), PHI)
    assert test.name == "Classes apart, confidence" and test.outcome == "different" and test.tier == 1
    assert "furthest: cat (AUC 0.9" in test.detail["says"] and test.detail["classes"] == 4
    # Within δ nothing counts, however sure.
    (test,) = apart_tests(forget, control, 0.49, scorers=PHI)
    assert test.outcome == "reported" and test.p_different == 1.0 and "class 2" in test.detail["says"]


def test_classes_that_all_lie_within_the_tolerance_are_no_alarm():
    """All of them known a little better, AUC about .53 each, with 500 records beside 800: the main tests say alike."""
    alarms = 0
    for seed in range(20):
        forget = drawn(5000, 2 * seed, lambda y: torch.full((len(y),), 0.2))
        tests = apart_tests(forget, drawn(8000, 2 * seed + 1), 0.05, scorers=PHI)
        alarms += tests[0].outcome == "different"
    assert alarms <= 1


@pytest.mark.parametrize(("n", "m"), [(100, 100), (300, 1000)])
def test_equal_classes_are_seldom_called_different(n, m):
    """Ten classes of at least ten records; 1 % is allowed, so 8 of 300 has a chance below .01."""
    told = 0
    for seed in range(300):
        tests = apart_tests(drawn(n, 2 * seed), drawn(m, 2 * seed + 1), 0.01)
        told += any(test.outcome == "different" for test in tests)
    assert told <= 8


@pytest.mark.parametrize(
    "shift",
    [
        lambda y: 0.8 * ((y < 5).float() - (y > 4).float()),  # half of the classes known, half scarred
        lambda y: 1.7 * (y < 1),  # one class as it was
    ],
)
def test_traces_and_scars_do_not_cancel(shift):
    for seed in range(3):
        told, reasons = verdict(shift, seed)
        assert told == "FAIL" and any(reason.startswith("Classes apart") for reason in reasons)


def test_equal_crowds_still_pass():
    assert Counter(verdict(None, seed)[0] for seed in range(10))["PASS"] >= 8
