"""Named records against never-seen ones of their class."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from sublimate.audits.records import ENOUGH, Standing, check_records, standings
from sublimate.data.core import Data
from sublimate.errors import UnlearningFailed
from sublimate.splits import split


class Says(nn.Module):
    """A network that reads its logits off the image."""

    def forward(self, x):
        return x.flatten(1)


class Flat(nn.Module):
    """An original to which all records are alike: none lies outside the range."""

    def forward(self, x):
        return torch.zeros_like(x.flatten(1))


class Shifted(nn.Module):
    """`Says` with all logits multiplied, and the φ of high records (all but the hard ones) moved."""

    def __init__(self, factor, shift):
        super().__init__()
        self.factor, self.shift = factor, shift

    def forward(self, x):
        z = self.factor * x.flatten(1)
        return z + self.shift * (z != 0) * (z.sum(1, keepdim=True) >= 0)


def table(train, never_seen):
    """Two classes; (label, φ) of the training rows and of the never-seen rows.

    With two classes φ is the own logit less the other one.  A validation row keeps the whole test set as control.
    """
    rows = [*train, *never_seen, (0, 0.0)]
    labels = torch.tensor([label for label, _ in rows])
    z = torch.zeros(len(rows), 2, 1, 1)
    for row, (label, phi) in enumerate(rows):
        z[row, label] = phi
    sizes = len(train), len(never_seen), 1
    return Data(name="toy", images=z, labels=labels, sizes=sizes, classes=("ant", "bee"))


# φ of never-seen ants is 0, 0.1, …, 10, of never-seen bees 100 more: the 5 % and 95 % quantiles of 0 … 10 in
# steps of 0.1 are the fifth and the 95th of 100 steps: 0.5 and 9.5.
NEVER_SEEN = [(0, i / 10) for i in range(101)] + [(1, 100 + i / 10) for i in range(101)]
KEPT = [(0, 5.0), (1, 105.0)]


def split_of(*forgotten, never_seen=NEVER_SEEN):
    """A request for these (label, φ) records by their ids 0, 1, …"""
    data = table([*forgotten, *KEPT], never_seen)
    return split(data, "id:" + ",".join(map(str, range(len(forgotten)))))


@pytest.mark.parametrize(
    ("phi", "outside"), [(5.0, 0.0), (1.0, 0.0), (8.0, 0.0), (8.5, 0.5), (-2.0, -3.0), (0.75, -0.25), (100.0, 92.0)]
)
def test_outside_is_zero_inside_positive_above_negative_below(phi, outside):
    assert Standing("7", phi, 1.0, 8.0).outside == outside


def test_a_record_stands_among_the_never_seen_of_its_own_class():
    found = standings(Says(), split_of((0, 5.0), (1, 5.0), (0, 12.0)))
    assert [s.id for s in found] == ["0", "1", "2"]
    assert [s.phi for s in found] == pytest.approx([5.0, 5.0, 12.0])
    assert [s.low for s in found] == pytest.approx([0.5, 100.5, 0.5], abs=1e-5)
    assert [s.high for s in found] == pytest.approx([9.5, 109.5, 9.5], abs=1e-5)
    assert [s.outside for s in found] == pytest.approx([0.0, -95.5, 2.5], abs=1e-5)


def test_standings_carry_the_ids_of_the_data():
    data = table([(0, 5.0), (0, 6.0), *KEPT], NEVER_SEEN)
    found = standings(Says(), split(data, "id:1"))
    assert [(s.id, s.phi) for s in found] == [("1", pytest.approx(6.0))]


@pytest.mark.parametrize(("own", "high"), [(ENOUGH, 2.0), (ENOUGH - 1, 1000.0)])
def test_a_class_with_too_few_never_seen_records_is_measured_on_all(own, high):
    never_seen = [(0, 2.0)] * own + [(1, 1000.0)] * 200
    (found,) = standings(Says(), split_of((0, 2.0), never_seen=never_seen))
    assert found.high == pytest.approx(high)


def test_a_record_that_looks_never_seen_passes():
    check_records(Says(), Flat(), split_of((0, 0.6)))
    check_records(Says(), Flat(), split_of((0, 9.4)))
    check_records(Says(), Flat(), split_of((1, 105.0)))


@pytest.mark.parametrize(
    ("phi", "words"),
    [(25.0, "confidence 25.00, 15.50 above"), (-3.0, "confidence -3.00, 3.50 below")],
)
def test_one_record_far_off_fails_and_says_by_how_much(phi, words):
    model = Says()
    with pytest.raises(UnlearningFailed) as failed:
        check_records(model, Flat(), split_of((0, phi)))
    assert failed.value.cause == (
        f"1 of 1 records do not look never seen: record 0 has {words} the range 0.50 to 9.50 of never-seen records "
        "of its class."
    )
    assert failed.value.model is model and failed.value.remedy


def test_the_farthest_record_is_named():
    with pytest.raises(UnlearningFailed, match=r"3 of 4 records .* record 2 has confidence -8"):
        check_records(Says(), Flat(), split_of((0, 11.0), (0, 5.0), (0, -8.0), (1, 112.0)))


@pytest.mark.parametrize(
    ("factor", "shift", "fails"),
    [
        (1.0, 0.0, False),  # as it was
        (2.0, 0.0, False),  # it was 7 below its range, is 3.5 below now
        (1.0, -0.5, False),  # the same confidence as before among others that were lower by .5
        (1.0, -3.6, True),  # it was inside
        (0.5, 0.0, True),  # it was 1.75 below with confidence -1.5: pushed down
    ],
)
def test_a_record_that_was_below_before_and_was_not_pushed_down_is_hard_by_nature(factor, shift, fails):
    s = split_of((0, -3.0))  # 3.5 below the range 0.5 to 9.5
    if not fails:
        check_records(Says(), Shifted(factor, shift), s)
        return
    with pytest.raises(UnlearningFailed, match=r"3\.50 below"):
        check_records(Says(), Shifted(factor, shift), s)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_record_that_stays_above_is_a_trace_however_far_above_it_was(factor):
    with pytest.raises(UnlearningFailed, match=r"0\.50 above"):
        check_records(Says(), Shifted(factor, 0.0), split_of((0, 10.0)))


def limit(n):
    """Most records outside that are no surprise: none of one, else the mean of 10 % and two standard deviations."""
    return 0 if n == 1 else math.floor(0.1 * n + 2 * math.sqrt(0.09 * n))


@pytest.mark.parametrize(("n", "most"), [(1, 0), (2, 1), (9, 2), (10, 2), (25, 5), (100, 16)])
@pytest.mark.parametrize("off", [20.0, -20.0])
def test_as_many_may_lie_outside_as_never_seen_records_do(n, most, off):
    assert limit(n) == most
    inside = [(0, 1.0 + 8 * i / n) for i in range(n)]
    check_records(Says(), Flat(), split_of(*[(0, off)] * most, *inside[most:]))
    with pytest.raises(UnlearningFailed, match=f"{most + 1} of {n} records"):
        check_records(Says(), Flat(), split_of(*[(0, off)] * (most + 1), *inside[most + 1 :]))


@pytest.mark.parametrize("request_", ["class:ant", "class:ant@50%", "random@50%"])
def test_only_requests_of_named_records_are_checked(request_):
    data = table([(0, 99.0)] * 6 + KEPT, NEVER_SEEN)
    check_records(Says(), Flat(), split(data, request_))


def test_long_lists_are_not_checked():
    s = split_of(*[(0, 99.0)] * 5)
    check_records(Says(), Flat(), s, most=4)
    with pytest.raises(UnlearningFailed):
        check_records(Says(), Flat(), s, most=5)


@pytest.mark.parametrize(("count", "checked"), [(ENOUGH - 1, False), (ENOUGH, True)])
def test_too_few_never_seen_records_say_nothing(count, checked):
    s = split_of((0, 99.0), never_seen=[(0, i / 10) for i in range(count)])
    assert len(s.control) == count
    if not checked:
        check_records(Says(), Flat(), s)
        return
    with pytest.raises(UnlearningFailed):
        check_records(Says(), Flat(), s)


def test_canaries_are_not_measured_by_natural_records():
    data = replace(table([(0, 500.0), *KEPT], NEVER_SEEN), ids=("canary-0001", "1", "2"))
    check_records(Says(), Flat(), split(data, "id:canary-0001"))
    with pytest.raises(UnlearningFailed, match="record 0"):
        check_records(Says(), Flat(), split_of((0, 500.0)))
