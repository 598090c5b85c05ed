"""Equivalence, difference, correction and power: by hand, and how often they err."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sublimate.audits.intervals import Interval, auc_interval
from sublimate.audits.statistics import difference, holm, resolvable, smallest_detectable, tost
from sublimate.errors import InputRefused


def found(value, null_se=0.05, effective=100.0):
    return Interval(value, 0.0, 1.0, 0.0, 10, 10, null_se, effective)


def phi(z):
    return math.erfc(-z / math.sqrt(2)) / 2


def draws(n, m, count, shift=0.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    for _ in range(count):
        yield auc_interval(
            *(torch.randn(size, generator=g, dtype=torch.double) + s for size, s in ((n, shift), (m, 0)))
        )


@pytest.mark.parametrize("value", [0.4, 0.6])  # both two standard errors away
def test_difference_by_hand(value):
    assert difference(found(value)) == pytest.approx(0.0455003, abs=1e-7)  # 2 · (1 − Φ(2))


def test_no_difference():
    assert difference(found(0.5)) == 1.0


@pytest.mark.parametrize("value", [0.48, 0.52])
def test_tost_by_hand(value):
    # se at either end √(.45 · .55 / 100) = 0.0497494, distance .02 − .05 = −.03: z = −0.603023
    assert tost(found(value), 0.05) == pytest.approx(phi(-0.603023), abs=1e-6)
    assert tost(found(value), 0.02) == pytest.approx(0.5)  # on the border
    assert tost(found(0.5), 0.05) == pytest.approx(phi(-0.05 / 0.0497494), abs=1e-6)


def test_tost_takes_the_wider_of_two_standard_errors():
    # null_se .05 counts as 0.25 / 0.0025 = 100 records, also where ties claim 10,000
    assert tost(found(0.5, effective=10_000.0), 0.05) == tost(found(0.5, effective=100.0), 0.05)
    # √(.2475 / 25) = 0.0994987: z = −0.502519
    assert tost(found(0.5, effective=25.0), 0.05) == pytest.approx(phi(-0.502519), abs=1e-6)


def test_outside_delta_is_never_equivalent():
    assert tost(found(0.56), 0.05) > 0.5 and tost(found(0.44), 0.05) > 0.5


@pytest.mark.parametrize("delta", [0.0, -0.05, 0.5, 1.0])
def test_delta_refused(delta):
    with pytest.raises(InputRefused) as caught:
        tost(found(0.5), delta)
    assert str(caught.value) == f"delta={delta} is no distance from an AUC of .5. Give a number between 0 and .5."


def test_equivalence_is_shown_when_the_90_percent_interval_lies_inside():
    g, seen = torch.Generator().manual_seed(1), set()
    for _ in range(200):
        interval = auc_interval(torch.randn(600, generator=g) * 3 + 0.1, torch.randn(600, generator=g), level=0.9)
        inside = interval.low > 0.45 and interval.high < 0.55
        assert inside == (tost(interval, 0.05) < 0.05)  # a wide group: the sample's own variance counts
        seen.add(inside)
    assert seen == {True, False}


def test_holm_by_hand():
    # in order .005 · 4 = .02, .01 · 3 = .03, .03 · 2 = .06, .04 · 1 = .04 but not below .06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_only_raises(p):
    adjusted = holm(p)
    assert all(a <= b <= 1 for a, b in zip(p, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1, len(p) * min(p)))
    order = sorted(range(len(p)), key=lambda i: p[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


@pytest.mark.parametrize(
    ("n", "expected", "digits"),
    [(5, 0.36, 2), (10, 0.26, 2), (50, 0.12, 2), (100, 0.085, 3), (250, 0.057, 3), (500, 0.044, 3), (1000, 0.036, 3)],
)
def test_smallest_detectable_against_a_thousand(n, expected, digits):
    assert round(smallest_detectable(n, 1000), digits) == expected


def test_smallest_detectable_by_hand():
    # √(201 / 120,000) = 0.0409268; half the power needs 1.959964 of them, 90 % at 1 % needs 2.575829 + 1.281552
    assert smallest_detectable(100, 100, power=0.5) == pytest.approx(1.959964 * 0.0409268, abs=1e-7)
    assert smallest_detectable(100, 100, power=0.9, alpha=0.01) == pytest.approx(3.857381 * 0.0409268, abs=1e-6)


def test_nothing_is_detectable_in_too_few():
    assert smallest_detectable(1, 1000) is None
    assert smallest_detectable(2, 1000) is None  # 2.8016 · √(1003 / 24,000) = 0.573
    assert smallest_detectable(3, 1000) == pytest.approx(2.801585 * math.sqrt(1004 / 36_000), abs=1e-5)  # 0.468


def test_resolvable():
    assert resolvable(0.05, 0.017) and not resolvable(0.05, 0.0171)  # 2.93 · .017 = .04981, 2.93 · .0171 = .0501
    assert resolvable(2.93 * 0.01, 0.01)
    # the factor: 80 % power of two one-sided tests at 5 %, z(.95) + z(.90) = 1.644854 + 1.281552
    assert resolvable(2.93, 1.0) and not resolvable(2.92, 1.0)


@pytest.mark.parametrize(("n", "m"), [(5, 100), (20, 200), (200, 200)])
def test_false_alarms_among_equals(n, m):
    alarms = sum(difference(interval) < 0.05 for interval in draws(n, m, 600))
    assert 0.03 < alarms / 600 < 0.07


def test_power_is_what_it_says():
    delta = smallest_detectable(100, 300)
    assert delta == pytest.approx(0.0935, abs=0.0001)
    shift = math.sqrt(2) * 0.2366  # Φ⁻¹(.5935)
    share = sum(difference(interval) < 0.05 for interval in draws(100, 300, 600, shift)) / 600
    assert share == pytest.approx(0.8, abs=0.06)


@pytest.mark.slow
def test_equivalence_is_claimed_falsely_in_at_most_five_percent():
    shift = math.sqrt(2) * 0.1256613  # Φ⁻¹(.55): exactly on the border
    share = sum(tost(interval, 0.05) < 0.05 for interval in draws(1000, 1000, 4000, shift)) / 4000
    assert 0.03 < share < 0.06


@pytest.mark.slow
def test_equivalence_of_equals_at_the_resolvable_size():
    # null_se = δ / 2.93 at n = m = 573: four of five are shown
    share = sum(tost(interval, 0.05) < 0.05 for interval in draws(573, 573, 4000)) / 4000
    assert share == pytest.approx(0.8, abs=0.03)
