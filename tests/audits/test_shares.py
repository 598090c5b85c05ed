"""Shares class by class: by hand, against the slow formula, and no class is taken for a difference."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.audits.shares import share_difference
from sublimate.errors import InputRefused


def marks(k, n):
    return torch.arange(n) < k


def one(n):
    return torch.zeros(n, dtype=torch.long)


def test_one_class_by_hand():
    # 8 of 10 against 2 of 10: 5 expected, variance 10 · 10 · 10 · 10 / (20² · 19), corrected (3 − ½) / √1.3158 = 2.18.
    found = share_difference(marks(8, 10), marks(2, 10), (one(10), one(10)))
    assert found.points == pytest.approx(60.0) and (found.n, found.m) == (10, 10)
    assert found.p == pytest.approx(math.erfc(2.5 / math.sqrt(10_000 / 7600) / math.sqrt(2)))


def test_a_frequent_class_is_no_difference():
    # Class 0 is always marked, class 1 never; the one group has 90 of class 0, the other 10.
    mine, theirs = torch.tensor([0] * 90 + [1] * 10), torch.tensor([0] * 10 + [1] * 90)
    found = share_difference(mine == 0, theirs == 0, (mine, theirs))
    assert (found.points, found.p) == (0.0, 1.0)
    assert share_difference(mine == 0, theirs == 0, (one(100), one(100))).p < 1e-20


def test_classes_that_only_one_group_shows_are_left_out_and_none_is_refused():
    mine, theirs = torch.tensor([0, 0, 1]), torch.tensor([0, 2])
    found = share_difference(torch.tensor([True, False, True]), torch.tensor([False, True]), (mine, theirs))
    assert (found.n, found.m, found.points) == (2, 1, 50.0)
    with pytest.raises(InputRefused, match="share no class"):
        share_difference(marks(1, 2), marks(1, 2), (one(2), one(2) + 1))


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 30), m=st.integers(1, 30), classes=st.integers(1, 4))
def test_points_are_the_mean_difference_over_the_forgotten_records(seed, n, m, classes):
    g = torch.Generator().manual_seed(seed)
    a, b = (torch.rand(size, generator=g) < 0.4 for size in (n, m))
    y, w = (torch.randint(classes, (size,), generator=g) for size in (n, m))
    shared = [i for i in range(n) if bool((w == y[i]).any())]
    if not shared:
        return
    slow = sum(float(a[i]) - float(b[w == y[i]].double().mean()) for i in shared) / len(shared)
    found = share_difference(a, b, (y, w))
    assert found.points == pytest.approx(100 * slow) and 0 <= found.p <= 1
    back = share_difference(b, a, (w, y))
    assert back.p == pytest.approx(found.p)


def test_false_alarms_stay_below_their_rate():
    g, alarms = torch.Generator().manual_seed(0), 0
    for _ in range(2000):
        y, w = torch.randint(3, (60,), generator=g), torch.randint(3, (200,), generator=g)
        chance = torch.tensor([0.05, 0.2, 0.5])
        found = share_difference(
            torch.rand(60, generator=g) < chance[y], torch.rand(200, generator=g) < chance[w], (y, w)
        )
        alarms += found.p < 0.05
    assert 20 <= alarms <= 100  # at most 5 %, and no dead test
