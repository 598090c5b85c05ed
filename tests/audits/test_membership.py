"""Entropy by hand; the attack against a reference written out."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from sublimate.audits.membership import entropy, entropy_mia


def logits_of(*probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).log()


def normal(n, K=10, scale=1.0, seed=0):
    return scale * torch.randn(n, K, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ((0.5, 0.5), math.log(2)),
        ((0.25,) * 4, math.log(4)),
        # ½ ln 2 + 2 · ¼ ln 4 = ½ ln 2 + ln 2 = 1.0397208
        ((0.5, 0.25, 0.25), 1.0397208),
        # 0.9 · 0.1053605 + 0.1 · 2.3025851 = 0.0948245 + 0.2302585 = 0.3250830
        ((0.9, 0.1), 0.3250830),
    ],
)
def test_entropy_by_hand(probabilities, expected):
    assert entropy(logits_of(probabilities)).tolist() == pytest.approx([expected], abs=1e-7)
    assert entropy(logits_of(probabilities) + 12.5).tolist() == pytest.approx([expected], abs=1e-7)


def test_entropy_is_taken_row_by_row_in_nats():
    found = entropy(torch.cat([logits_of((0.5, 0.5)), logits_of((0.9, 0.1))]))
    assert found.tolist() == pytest.approx([0.6931472, 0.3250830], abs=1e-7)


@pytest.mark.parametrize("row", [[1e4, 0.0, 0.0], [3e38, -3e38, 0.0], [0.0, -1e30, -1e30]])
def test_nothing_times_the_log_of_nothing_is_nothing(row):
    assert entropy(torch.tensor([row])).tolist() == [0.0]


def test_a_masked_class_has_no_entropy():
    found = entropy(torch.tensor([[0.0, -math.inf], [0.0, 0.0]]))
    assert found.tolist() == pytest.approx([0.0, math.log(2)])


def slow_entropy(row):
    total = sum(math.exp(v) for v in row)
    return -sum(math.exp(v) / total * math.log(math.exp(v) / total) for v in row)


def slow_attack(member, nonmember, target):
    """The regularised balanced logistic regression, by a general minimiser: share of targets on the members' side."""
    x = [slow_entropy(row) for row in member.tolist() + nonmember.tolist()]
    sides = [1.0] * len(member) + [-1.0] * len(nonmember)
    n = len(x)
    weights = [n / (2 * len(member)) if side > 0 else n / (2 * len(nonmember)) for side in sides]

    def objective(theta):
        slope, offset = theta
        margins = [side * (slope * value + offset) for side, value in zip(sides, x, strict=True)]
        fit = sum(w * math.log1p(math.exp(-m)) for w, m in zip(weights, margins, strict=True))
        return fit + slope**2 / 2

    slope, offset = minimize(objective, np.zeros(2), tol=1e-12).x
    return 100 * sum(slope * slow_entropy(row) + offset > 0 for row in target.tolist()) / len(target)


@pytest.mark.parametrize(("members", "others", "targets"), [(60, 60, 50), (120, 30, 41), (20, 90, 7)])
def test_the_attack_is_that_of_the_slow_reference(members, others, targets):
    member, other = normal(members, scale=3.0), normal(others, scale=2.0, seed=1)
    target = torch.cat([normal(targets, scale=3.0, seed=2), normal(targets, scale=2.0, seed=3)])
    found = entropy_mia(member, other, target)
    assert found == pytest.approx(slow_attack(member, other, target))
    assert 0 < found < 100


def test_the_attack_is_a_threshold_on_entropy():
    member, other = normal(80, scale=3.0), normal(50, scale=1.5, seed=1)
    target = normal(200, scale=2.0, seed=2)
    x = [[slow_entropy(row)] for row in member.tolist() + other.tolist()]
    attack = LogisticRegression(class_weight="balanced").fit(x, [1] * 80 + [0] * 50)
    threshold = -float(attack.intercept_[0]) / float(attack.coef_[0, 0])
    assert attack.coef_[0, 0] < 0  # members are surer
    below = sum(slow_entropy(row) < threshold for row in target.tolist())
    assert 0 < below < 200
    assert entropy_mia(member, other, target) == pytest.approx(100 * below / 200)


def test_members_that_are_surer_are_told_apart():
    sure, unsure = normal(50, scale=20.0), normal(50, scale=0.1, seed=1)
    assert entropy_mia(sure, unsure, sure) == 100.0
    assert entropy_mia(sure, unsure, unsure) == 0.0
    assert entropy_mia(unsure, sure, unsure) == 100.0  # it learns which side members are on


def test_both_sides_weigh_the_same_whatever_their_size():
    member, other, target = normal(40, scale=3.0), normal(40, scale=2.0, seed=1), normal(200, scale=2.5, seed=2)
    once = entropy_mia(member, other, target)
    assert 20 < once < 80
    assert entropy_mia(member.repeat(50, 1), other, target) == pytest.approx(once, abs=8)


def test_the_attack_changes_nothing_and_draws_nothing():
    given = normal(30, scale=3.0), normal(30, seed=1), normal(30, seed=2)
    copies = [z.clone() for z in given]
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].tolist()
    assert entropy_mia(*given) == entropy_mia(*given)
    assert all(torch.equal(z, copy) for z, copy in zip(given, copies, strict=True))
    assert torch.equal(torch.get_rng_state(), torch_state) and np.random.get_state()[1].tolist() == numpy_state
