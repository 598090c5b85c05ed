"""Exact intervals, checked by adding up binomial probabilities; detection at a low false-positive rate by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sublimate.audits.proportions import clopper_pearson, highest, lowest, tpr_at_fpr
from sublimate.errors import InputRefused


def probability(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 5, 30])
def test_coverage_is_at_least_the_level_for_every_true_share(n, level):
    intervals = [clopper_pearson(k, n, level) for k in range(n + 1)]
    covered = [
        sum(probability(k, n, p) for k, found in enumerate(intervals) if found.low <= p <= found.high)
        for p in (i / 200 for i in range(1, 200))
    ]
    assert min(covered) >= level


@given(st.integers(1, 40), st.data())
def test_the_ends_leave_their_tail(n, data):
    k = data.draw(st.integers(0, n))
    found = clopper_pearson(k, n, 0.9)
    assert (found.value, found.k, found.n) == (k / n, k, n)
    above = sum(probability(j, n, found.low) for j in range(k, n + 1))
    below = sum(probability(j, n, found.high) for j in range(k + 1))
    assert (above, below) == pytest.approx((0.05 if k else 1.0, 0.05 if k < n else 1.0), rel=1e-9)


def test_edges_by_hand():
    assert (clopper_pearson(0, 8).low, clopper_pearson(8, 8).high) == (0.0, 1.0)
    assert clopper_pearson(0, 8).high == pytest.approx(1 - 0.025 ** (1 / 8))
    assert clopper_pearson(8, 8).low == pytest.approx(0.025 ** (1 / 8))
    # one of two at 95 %: 1 − (1 − p)² = .025 and 1 − p² = .025
    found = clopper_pearson(1, 2)
    assert (found.low, found.high) == pytest.approx((1 - math.sqrt(0.975), math.sqrt(0.975)))


def test_many_at_once_as_one_by_one():
    k = np.arange(6)
    assert lowest(k, 5, 0.1).tolist() == [float(lowest(i, 5, 0.1)) for i in range(6)]
    assert highest(k, 5, 0.1).tolist() == [float(highest(i, 5, 0.1)) for i in range(6)]


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_no_proportion(k, n):
    with pytest.raises(InputRefused) as caught:
        clopper_pearson(k, n)
    assert str(caught.value) == f"{k} of {n} is no proportion. Give at least one record and count each at most once."


CONTROL = torch.arange(100.0)  # 0 … 99


@pytest.mark.parametrize(
    ("fpr", "threshold", "tpr", "achieved"),
    [
        (0.0, 99, 1, 0),
        (0.009, 99, 1, 0),  # 0.9 of a record: none
        (0.01, 98, 2, 1),  # 99 is found wrongly
        (0.29, 70, 3, 29),  # 71 … 99; .29 · 100 is 28.999… in floating point
        (0.99, 0, 3, 99),
    ],
)
def test_detection_by_hand(fpr, threshold, tpr, achieved):
    forget = torch.tensor([0.0, 71.0, 98.5, 120.0])
    found = tpr_at_fpr(forget, CONTROL, fpr)
    assert (found.threshold, found.tpr.k, found.fpr.k) == (threshold, tpr, achieved)
    assert (found.tpr, found.fpr) == (clopper_pearson(tpr, 4), clopper_pearson(achieved, 100))


def test_detection_below_mirrors_detection_above():
    forget = torch.tensor([0.0, -71.0, -98.5, -120.0])
    found = tpr_at_fpr(forget, -CONTROL, 0.01, below=True)
    assert (found.threshold, found.tpr.k, found.fpr.k) == (-98.0, 2, 1)
    assert tpr_at_fpr(forget, -CONTROL, 0.01).tpr.k == 1  # above −1: only 0


def test_ties_at_the_threshold_are_not_found():
    found = tpr_at_fpr(torch.tensor([5.0, 6.0]), torch.tensor([5.0, 5.0, 5.0, 1.0]), 0.5)
    assert (found.tpr.k, found.fpr.k) == (1, 0)


def test_level_of_the_intervals():
    found = tpr_at_fpr(torch.tensor([5.0]), torch.tensor([5.0, 4.0]), 0.5, level=0.5)
    assert found.fpr == clopper_pearson(1, 2, 0.5) and found.tpr == clopper_pearson(1, 1, 0.5)


@pytest.mark.parametrize("below", [False, True])
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.floats(0, 0.999), st.integers(0, 99))
def test_the_false_positive_share_never_exceeds_what_was_asked(below, control, fpr, seed):
    forget = torch.randn(7, generator=torch.Generator().manual_seed(seed))
    found = tpr_at_fpr(forget, torch.tensor(control), fpr, below=below)
    assert found.fpr.value <= fpr + 1e-9


@pytest.mark.parametrize("fpr", [-0.001, 1.0, 2.0])
def test_rate_refused(fpr):
    with pytest.raises(InputRefused) as caught:
        tpr_at_fpr(CONTROL, CONTROL, fpr)
    assert str(caught.value) == f"A false-positive rate of {fpr} needs no threshold. Give a number from 0 to below 1."


def test_not_a_number_is_refused():
    with pytest.raises(InputRefused, match="not a number"):
        tpr_at_fpr(torch.tensor([math.nan]), CONTROL, 0.01)
