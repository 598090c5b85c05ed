"""Distances to another network: identities, and values by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sublimate.audits.distances import activation_distance, average_gap, calibration_error, completeness, js, tow, zrf
from sublimate.audits.evaluation import Scores

ERASED = Scores(acc_df=60.0, acc_dr=95.0, ta=80.0, mia=30.0)
RETRAIN = Scores(acc_df=70.0, acc_dr=100.0, ta=78.0, mia=50.0)


def softmax(seed, n=6, k=5):
    return (4 * torch.randn(n, k, generator=torch.Generator().manual_seed(seed))).softmax(1)


def logits_of(*probabilities):
    return torch.tensor(probabilities, dtype=torch.double).log()


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_js_identities(a, b):
    p, q = softmax(a), softmax(b)
    assert js(p, p).tolist() == [0.0] * 6
    assert torch.equal(js(p, q), js(q, p))
    assert bool((js(p, q) >= 0).all() and (js(p, q) <= math.log(2)).all())


def test_js_by_hand():
    # m = (¾, ¼): ½ [1 · ln 4/3] + ½ [½ ln 2/3 + ½ ln 2] = 0.1438410 + 0.0719205
    p, q = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.5, 0.5], [0.0, 1.0]])
    assert js(p, q).tolist() == pytest.approx([0.2157616, math.log(2)], abs=1e-7)


def test_zrf():
    z = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    assert zrf(z, z + 3) == pytest.approx(1.0)
    # one record alike, one disjoint: 1 − ½ ln 2
    far = torch.tensor([[0.0, 0.0], [800.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 800.0]])
    assert zrf(*far) == pytest.approx(1 - math.log(2) / 2)


def test_activation_distance_by_hand():
    # (.9, .1) and (.6, .4): √(.09 + .09); equal: 0
    found = activation_distance(logits_of((0.9, 0.1), (0.5, 0.5)), logits_of((0.6, 0.4), (0.5, 0.5)))
    assert found == pytest.approx(math.sqrt(0.18) / 2)


def test_completeness_by_hand():
    a, b = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), torch.tensor([[3.0, 0.0], [0.0, 9.0], [1.0, 2.0]])
    assert completeness(a, b) == completeness(b, a) == pytest.approx(2 / 3)


def test_tow_by_hand():
    # (1 − .10) (1 − .05) (1 − .02), and (1 − .20) first for the attack
    assert tow(ERASED, RETRAIN) == pytest.approx(0.9 * 0.95 * 0.98)
    assert tow(ERASED, RETRAIN, "mia") == pytest.approx(0.8 * 0.95 * 0.98)
    assert tow(RETRAIN, RETRAIN) == tow(RETRAIN, RETRAIN, "mia") == 1.0
    assert tow(ERASED, RETRAIN) == tow(RETRAIN, ERASED)


def test_average_gap_by_hand():
    assert average_gap(ERASED, RETRAIN) == (10 + 5 + 2 + 20) / 4
    assert average_gap(RETRAIN, RETRAIN) == 0.0


def test_missing_figures_give_none():
    assert tow(Scores(acc_df=60.0, acc_dr=95.0), RETRAIN) is None
    assert average_gap(ERASED, Scores(ta=80.0)) is None
    without = Scores(acc_df=60.0, acc_dr=95.0, ta=80.0)
    assert tow(without, RETRAIN) is not None and tow(without, RETRAIN, "mia") is None


def test_calibration_error_by_hand():
    # bin (.8, .867]: two at .85, one right: |½ − .85|; bin (.533, .6]: one at .6, right: 1 − .6
    z = logits_of((0.85, 0.15), (0.85, 0.15), (0.6, 0.4))
    assert calibration_error(z, torch.tensor([0, 1, 0])) == pytest.approx((2 * 0.35 + 0.4) / 3)
    assert calibration_error(logits_of((1.0, 0.0)), torch.tensor([0])) == 0.0
    assert calibration_error(logits_of((1.0, 0.0)), torch.tensor([1])) == 1.0


def test_calibration_bins():
    # .61 wrong and .65 right share the bin (.6, .667] of 15
    z, y = logits_of((0.61, 0.39), (0.65, 0.35)), torch.tensor([1, 0])
    assert calibration_error(z, y) == pytest.approx(abs(1 - 0.61 - 0.65) / 2)
    # .55 wrong and .95 right lie in two of 15 bins, in one of 1: (.55 + .05) / 2 against |½ − .75|
    z, y = logits_of((0.55, 0.45), (0.95, 0.05)), torch.tensor([1, 0])
    assert calibration_error(z, y) == pytest.approx(0.3)
    assert calibration_error(z, y, bins=1) == pytest.approx(0.25)


def test_a_bin_holds_its_upper_edge():
    # ½ is the upper edge of the first of two bins: apart from .9
    z, y = logits_of((0.5, 0.5), (0.9, 0.1)), torch.tensor([1, 0])
    assert calibration_error(z, y, bins=2) == pytest.approx((0.5 + 0.1) / 2)
