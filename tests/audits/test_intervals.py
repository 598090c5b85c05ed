"""The AUC and its interval: by hand, against a double loop, and its coverage by simulation."""

import math
from statistics import NormalDist

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sublimate.audits.intervals import auc_interval, null_se
from sublimate.errors import InputRefused
from sublimate.inference import placements

few_levels = arrays("f8", st.integers(1, 12), elements=st.integers(-4, 4).map(float))  # many ties


def normal(n, shift=0.0, seed=0):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.double) + shift


def double_loop(forget, control):
    return sum((f > c) + 0.5 * (f == c) for f in forget.tolist() for c in control.tolist()) / (
        len(forget) * len(control)
    )


def test_placements_by_hand():
    # below 3 lie both; 1 ties with one of two: ½ of ½
    assert placements(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0])).tolist() == [1.0, 0.25]
    third = placements(torch.tensor([2.0]), torch.tensor([1.0, 3.0, 4.0]))
    assert third.dtype == torch.double and third.item() == 1 / 3


FORGET, CONTROL = torch.tensor([3.0, 1.0, 2.0]), torch.tensor([2.0, 0.0])


def test_interval_by_hand():
    found = auc_interval(FORGET, CONTROL)
    # placements of the forgotten: 1, ½, ¾; one minus those of the control: ½, 1.  AUC ¾, squares ⅛ and ⅛.
    # the imagined record adds (¾² + ¼²) / 2 = 0.3125, so 0.4375 each: / 3 / 3 and / 2 / 2
    variance = 0.4375 / 9 + 0.4375 / 4
    # shrunk AUC (2 · ¾ + ½) / 3 = ⅔; effective ⅔ · ⅓ / variance = 8 / 5.6875
    assert (found.value, found.n, found.m) == (0.75, 3, 2)
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found.effective == pytest.approx(8 / 5.6875, rel=1e-12)
    assert found.null_se == pytest.approx(math.sqrt(6 / 72), rel=1e-12)
    # z² = 3.84146: middle (0.75 + 1.36551) / 3.73103 = 0.56701,
    # half √(3.84146 · (0.13330 + 0.48540)) / 3.73103 = 0.41320
    assert (found.low, found.high) == pytest.approx((0.15381, 0.98021), abs=1e-5)


def test_interval_inside_the_classes_by_hand():
    forget, control = torch.cat([FORGET, torch.tensor([5.0, 7.0])]), torch.cat([CONTROL, torch.tensor([5.0, 9, 1, 0])])
    groups = torch.tensor([0, 0, 0, 1, 2]), torch.tensor([0, 0, 1, 1, 1, 7])  # classes 2 and 7 have no partner
    found = auc_interval(forget, control, groups=groups)
    # class 0 as above, weight ¾; class 1: 5 against 5, 9, 1 = (½ + 0 + 1) / 3 = ½, weight ¼
    assert (found.value, found.n, found.m) == (0.75 * 0.75 + 0.25 * 0.5, 4, 5)
    # the imagined records: ¾ and 2/5 of one in class 0, ¼ and 3/5 in class 1
    zero = (0.125 + 0.75 * 0.3125) / 2.75 / 3 + (0.125 + 0.4 * 0.3125) / 1.4 / 2
    one = (0 + 0.25 * 0.25) / 0.25 / 1 + (0.5 + 0.6 * 0.25) / 2.6 / 3
    variance = zero * 9 / 16 + one / 16
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found.null_se == pytest.approx(math.sqrt(9 / 16 * 6 / 72 + 1 / 16 * 5 / 36), rel=1e-12)
    # shrunk (4 · 0.6875 + ½) / 5 = 0.65
    assert found.effective == pytest.approx(0.65 * 0.35 / variance, rel=1e-12)


def test_one_class_is_no_class():
    forget, control = normal(30, 0.4), normal(50, seed=1)
    same = torch.full((30,), 6), torch.full((50,), 6)
    assert auc_interval(forget, control, groups=same) == auc_interval(forget, control)


def test_classes_that_differ_do_not_leak_into_the_matched_value():
    labels = torch.arange(400) % 2
    forget, control = normal(400) + 50 * labels, normal(400, seed=1)
    control = control + 50 * labels
    keep = (labels == 1) | (torch.arange(400) < 40)  # the forgotten come mostly from the high class
    assert auc_interval(forget[keep], control).value > 0.7
    assert auc_interval(forget[keep], control, groups=(labels[keep], labels)).contains(0.5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_the_ends_are_where_the_score_test_turns(level):
    found = auc_interval(normal(40, 0.5), normal(60, seed=1), level=level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    for end in (found.low, found.high):
        assert abs(found.value - end) == pytest.approx(z * math.sqrt(end * (1 - end) / found.effective), rel=1e-9)
    assert found.low < found.value < found.high


@given(few_levels, few_levels)
def test_value_is_that_of_a_double_loop_and_inside_its_interval(a, b):
    forget, control = torch.from_numpy(a), torch.from_numpy(b)
    found = auc_interval(forget, control)
    assert found.value == pytest.approx(double_loop(forget, control), abs=1e-12)
    assert 0 <= found.low <= found.value + 1e-12 and found.value - 1e-12 <= found.high <= 1
    assert found.high - found.low > 0.05 and found.se > 0


@given(few_levels, few_levels)
def test_turned_around(a, b):
    there, back = (auc_interval(torch.from_numpy(x), torch.from_numpy(y)) for x, y in ((a, b), (b, a)))
    assert (there.value, there.low, there.high) == pytest.approx(
        (1 - back.value, 1 - back.high, 1 - back.low), abs=1e-9
    )
    assert (there.se, there.null_se, there.n) == pytest.approx((back.se, back.null_se, back.m), rel=1e-9)


@given(few_levels, few_levels)
def test_only_the_order_counts(a, b):
    forget, control = torch.from_numpy(a), torch.from_numpy(b)
    expected = auc_interval(forget, control)
    for increasing in (torch.exp, torch.atan, lambda x: x**3 - 7, lambda x: x.float() / 8):
        assert auc_interval(increasing(forget), increasing(control)) == expected


@pytest.mark.parametrize("n", [2, 5, 200])
def test_separated_groups_still_have_a_width(n):
    found = auc_interval(torch.ones(n), torch.zeros(n))
    assert (found.value, found.high) == (1.0, pytest.approx(1.0, abs=1e-12))
    # a share q of low values among the forgotten stays unseen in n of them with (1 − q)^n ≥ .025
    assert found.low < 0.025 ** (1 / n)
    assert auc_interval(torch.zeros(n), torch.ones(n)).low == pytest.approx(0.0, abs=1e-12)


def test_one_record_shows_nothing():
    found = auc_interval(torch.tensor([9.0]), normal(1000))
    assert found.value == 1.0 and found.contains(0.5) and found.contains()


def test_ties_show_no_more_than_their_number_allows():
    # all n alike: a share q of others is missed with (1 − q)^n ≥ .025, so the AUC may be off by half of 3.7 / n
    for n in (5, 50, 500):
        found = auc_interval(torch.ones(n), torch.ones(n))
        assert found.value == 0.5 and 1.2 / n < found.high - 0.5 < 4 / n


def test_contains_its_ends():
    found = auc_interval(normal(20), normal(20, seed=1))
    assert found.contains(found.low) and found.contains(found.high)
    assert not found.contains(found.low - 1e-9) and not found.contains(found.high + 1e-9)


def test_infinite_scores_are_the_highest():
    inf = torch.tensor([math.inf], dtype=torch.double)
    assert auc_interval(inf, torch.tensor([1e300, -math.inf], dtype=torch.double)).value == 1.0


@pytest.mark.parametrize("d", [0.0, 0.5, 1.0, 2.0])
def test_two_gaussians_without_a_table_of_pairs(d):
    found = auc_interval(normal(200_000, d), normal(200_000, seed=1))  # 320 GB as a table
    assert found.value == pytest.approx(NormalDist().cdf(d / math.sqrt(2)), abs=0.005)
    assert found.high - found.low < 0.005


def test_null_se_by_hand():
    assert null_se(1, 1) == 0.5  # (1 + 1 + 1) / 12 = ¼
    assert null_se(2, 3) == math.sqrt(6 / 72)
    # all 10 placements of 2 among 5: AUC · 6 = 0 1 2 2 3 3 4 4 5 6, mean 3, variance 30 / 10 = 3, / 36 = 1/12
    assert null_se(2, 3) == pytest.approx(math.sqrt(1 / 12))


@pytest.mark.parametrize(
    ("forget", "control", "groups", "message"),
    [
        ([], [1.0], None, "There is nothing to compare. Give records of both groups."),
        ([1.0], [], None, "There is nothing to compare. Give records of both groups."),
        ([math.nan], [1.0], None, "Some scores are not a number. Check that the network's outputs are finite."),
        ([1.0], [math.nan, 1.0], None, "Some scores are not a number. Check that the network's outputs are finite."),
        (
            [1.0],
            [1.0],
            ([0], [1]),
            "The groups share no class. Give never-seen records of the classes to be forgotten.",
        ),
    ],
)
def test_refused(forget, control, groups, message):
    labels = groups and tuple(map(torch.tensor, groups))
    with pytest.raises(InputRefused) as caught:
        auc_interval(torch.tensor(forget), torch.tensor(control), groups=labels)
    assert str(caught.value) == message


def coverage(auc, simulations, n=200, m=200):
    shift = math.sqrt(2) * NormalDist().inv_cdf(auc)
    g = torch.Generator().manual_seed(3)
    below = above = 0
    for _ in range(simulations):
        forget, control = (torch.randn(size, generator=g, dtype=torch.double) for size in (n, m))
        found = auc_interval(forget + shift, control)
        below, above = below + (auc < found.low), above + (auc > found.high)
    return 1 - (below + above) / simulations, below / simulations, above / simulations


@pytest.mark.parametrize("auc", [0.5, 0.6, 0.8])
def test_coverage_quickly(auc):
    covered, below, above = coverage(auc, 600)
    assert covered == pytest.approx(0.95, abs=0.025)  # 2.8 standard errors
    assert max(below, above) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("auc", [0.5, 0.6, 0.8])
def test_coverage(auc):
    covered, below, above = coverage(auc, 10_000)
    assert covered == pytest.approx(0.95, abs=0.01)
    assert (below, above) == pytest.approx((0.025, 0.025), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(5, 1000), (20, 200), (1000, 20)])
@pytest.mark.parametrize("auc", [0.5, 0.8, 0.95])
def test_coverage_of_small_groups_is_not_below(n, m, auc):
    assert coverage(auc, 4000, n, m)[0] > 0.94


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 5, 40])
def test_coverage_inside_classes(size):
    """Ten classes, unlike in level and in how far the forgotten are ahead; forgotten 10 · size, control four times."""
    k = torch.arange(10)
    labels, others = k.repeat_interleave(size), k.repeat_interleave(4 * size)
    ahead = k / 10
    truth = sum(NormalDist().cdf(a / math.sqrt(2)) for a in ahead.tolist()) / 10
    g, hits = torch.Generator().manual_seed(5), 0
    for _ in range(1500):
        forget, control = (torch.randn(len(y), generator=g, dtype=torch.double) for y in (labels, others))
        found = auc_interval(forget + (ahead + 3 * k)[labels], control + 3 * k[others], groups=(labels, others))
        hits += found.contains(truth)
    assert hits / 1500 > 0.935 and (size < 40 or hits / 1500 < 0.975)  # careful where a class has few
