"""Lower bounds of ε: golden values, what a slow search finds, and how often they claim too much."""

import math
from itertools import pairwise

import pytest
import torch

from sublimate.audits.epsilon import epsilon_bound, epsilon_ceiling, epsilon_lower
from sublimate.audits.proportions import clopper_pearson
from sublimate.errors import InputRefused
from sublimate.randomness import stream


def normal(n, shift=0.0, seed=0):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.double) + shift


def test_golden_value():
    q = 0.005 ** (1 / 500)  # all of 500: q^500 = α / 2; none of 500: (1 − p)^500 = α / 2, so p = 1 − q
    assert epsilon_lower(500, 500, 0, 500, 0.01) == pytest.approx(math.log(q / (1 - q)), rel=1e-9)
    assert epsilon_lower(500, 500, 0, 500, 0.01) >= 4.5419


def test_one_against_one_by_hand():
    # both sure to 2.5 %: log(.025 / .975) is negative, so nothing is shown
    assert epsilon_lower(1, 1, 0, 1) == 0.0
    # at α = 1 each may err with ½: log(½ / ½)
    assert epsilon_lower(1, 1, 0, 1, 1.0) == pytest.approx(0.0, abs=1e-12)


def test_the_bound_is_the_ratio_of_two_interval_ends():
    tpr, fpr = clopper_pearson(40, 90, 0.9), clopper_pearson(3, 70, 0.9)
    assert epsilon_lower(40, 90, 3, 70, 0.1) == pytest.approx(math.log(tpr.low / fpr.high), rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_nothing_found_shows_nothing():
    assert epsilon_lower(0, 50, 0, 50) == 0.0
    assert epsilon_lower(0, 50, 50, 50) == 0.0


def test_more_is_more():
    found = [epsilon_lower(k, 100, 1, 100) for k in range(10, 101, 10)]
    assert found == sorted(found) and found[0] == 0 < found[1]
    assert epsilon_lower(90, 100, 1, 100) > epsilon_lower(90, 100, 2, 100)
    assert epsilon_lower(90, 100, 1, 100, 0.1) > epsilon_lower(90, 100, 1, 100) > epsilon_lower(90, 100, 1, 100, 0.01)


def test_ceiling():
    assert epsilon_ceiling(30, 70, 0.1) == epsilon_lower(30, 30, 0, 70, 0.1)
    # .025^(1/100) = 0.963783, so log(0.963783 / 0.036217) = 3.28131
    assert epsilon_ceiling(100, 100) == pytest.approx(3.28131, abs=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_separated_groups_reach_the_ceiling_of_the_other_half(sign):
    found = epsilon_bound(sign * (torch.arange(41.0) + 100), -sign * torch.arange(61.0), alpha=0.1)
    assert found.value == found.ceiling == epsilon_ceiling(21, 31, 0.1)
    assert (found.tpr, found.fpr) == (clopper_pearson(21, 21, 0.9), clopper_pearson(0, 31, 0.9))
    assert found.below == (sign < 0)


def halves(x, seed, name):
    order = torch.randperm(len(x), generator=stream(seed, "epsilon", name)).tolist()
    chosen = [x[i].item() for i in order]
    return chosen[: len(x) // 2], chosen[len(x) // 2 :]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shift", [1.5, -1.5])
def test_as_a_slow_search(shift, seed):
    forget, control = normal(41, shift), normal(50, seed=9)
    (f, f_other), (c, c_other) = halves(forget, seed, "forget"), halves(control, seed, "control")
    best = (-math.inf, 0.0, 1)
    for sign in (1, -1):
        values = sorted(sign * x for x in f + c)
        for threshold in ((a + b) / 2 for a, b in pairwise(values)):
            k, j = (sum(sign * x > threshold for x in group) for group in (f, c))
            low, high = clopper_pearson(k, len(f), 0.9).low, clopper_pearson(j, len(c), 0.9).high
            bound = math.log(low / high) if low else -math.inf
            best = max(best, (bound, threshold, sign), key=lambda b: b[0])
    _, threshold, sign = best
    k, j = (sum(sign * x > threshold for x in group) for group in (f_other, c_other))
    found = epsilon_bound(forget, control, alpha=0.1, seed=seed)
    assert (found.tpr.k, found.fpr.k, found.below) == (k, j, sign < 0)
    assert (found.tpr.n, found.fpr.n) == (21, 25)
    assert found.value == epsilon_lower(k, 21, j, 25, 0.1)


def test_one_value_for_all_shows_nothing():
    found = epsilon_bound(torch.ones(20), torch.ones(20))
    assert (found.value, found.tpr.k, found.fpr.k) == (0.0, 0, 0)


def test_the_threshold_lies_halfway():
    # between 10 and 0 (5) or 4 (7), whichever half holds the 4
    forget, control = torch.tensor([10.0] * 41), torch.tensor([0.0] * 40 + [4.0])
    for seed in range(8):
        assert epsilon_bound(forget, control, seed=seed).fpr.k == 0
        assert epsilon_bound(-forget, -control, seed=seed).fpr.k == 0


def test_infinite_scores():
    inf = torch.full((60,), math.inf)
    assert epsilon_bound(inf, -inf).value == epsilon_ceiling(30, 30)
    assert epsilon_bound(torch.zeros(60), -inf).value == epsilon_ceiling(30, 30)
    assert epsilon_bound(inf, torch.arange(60.0)).tpr.k == 30
    assert epsilon_bound(inf, (torch.arange(60) % 2).double()).value == epsilon_ceiling(30, 30)


def test_equals_show_nothing_in_95_percent():
    claims = sum(epsilon_bound(normal(200, seed=2 * s), normal(200, seed=2 * s + 1)).value > 0 for s in range(200))
    assert claims <= 10


def test_known_epsilon_is_approached_and_seldom_exceeded():
    # half of the forgotten and a twentieth of the control score 1: ε = log 10
    found = []
    for seed in range(60):
        g = torch.Generator().manual_seed(seed)
        forget, control = (
            (torch.rand(2000, generator=g) < 0.5).double(),
            (torch.rand(2000, generator=g) < 0.05).double(),
        )
        found.append(epsilon_bound(forget, control, seed=seed).value)
    assert sum(value > math.log(10) for value in found) <= 3
    assert min(found) > 1.5


def test_seeded_and_alone():
    forget, control = normal(100, 1.0), normal(100, seed=1)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    assert epsilon_bound(forget, control, seed=3) == epsilon_bound(forget, control, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert len({epsilon_bound(forget, control, seed=s).value for s in range(5)}) > 1
    assert epsilon_bound(forget, control) == epsilon_bound(forget, control, alpha=0.05, seed=0)


@pytest.mark.parametrize(("n", "m"), [(1, 9), (9, 1)])
def test_too_few(n, m):
    with pytest.raises(InputRefused) as caught:
        epsilon_bound(torch.zeros(n), torch.zeros(m))
    assert str(caught.value) == "A bound on ε needs two halves. Give at least two records of each group."


def test_two_records_are_enough_to_run_and_show_nothing():
    assert epsilon_bound(torch.tensor([5.0, 6.0]), torch.tensor([0.0, 1.0])).value == 0.0


def test_not_a_number_is_refused():
    with pytest.raises(InputRefused, match="not a number"):
        epsilon_bound(torch.zeros(5), torch.tensor([0.0, math.nan]))
