"""What is looked at: bounded, matched, and never a training record."""

from dataclasses import replace

import pytest
import torch

from sublimate.audits.sampling import RETAINED, looked_at
from sublimate.data.core import Data
from sublimate.errors import InputRefused
from sublimate.splits import split


def table(train, test, sizes=None):
    labels = torch.tensor([*train, *test])
    x = torch.zeros(len(labels), 1, 4, 4)
    return Data(name="rows", images=x, labels=labels, sizes=(len(train), len(test), 0), classes=("a", "b", "c"))


@pytest.fixture(scope="module")
def many():
    """4,000 training and 1,250 test records of three classes; class c is rare among the latter."""
    return table([k % 3 for k in range(4000)], [0, 1] * 610 + [2] * 30)


def test_all_of_forget_and_control_and_some_of_the_retained_records(many):
    s = split(many, "class:a")
    parts = looked_at(s, s)
    assert list(parts) == ["forget", "control", "retain"] and len(parts["retain"]) == RETAINED
    assert torch.equal(parts["forget"].rows, s.forget) and torch.equal(parts["control"].rows, s.control)


@pytest.mark.parametrize("request_", ["class:a", "class:c", "random@10%", "id:0,2"])
@pytest.mark.parametrize("sample", [1, 2, 7, 100, 900, 5000])
def test_a_sample_bounds_every_part_and_keeps_records_of_the_forgotten_classes(many, request_, sample):
    s = split(many, request_)
    parts = looked_at(s, s, sample)
    assert all(1 <= len(part) <= sample for part in parts.values())
    same = torch.isin(parts["control"].labels, parts["forget"].labels)
    whole = int(torch.isin(many.labels[s.control], s.forget_set.labels).sum())
    assert int(same.sum()) >= min(whole, (sample + 1) // 2)
    assert set(parts["control"].rows.tolist()) <= set(s.control.tolist())
    if sample >= 2 and request_.startswith("class"):
        assert bool((~same).any())  # for what stays


def test_without_never_seen_records_nothing_can_be_said():
    s = split(table([0, 1, 0, 1], []), "class:a")
    with pytest.raises(InputRefused, match="no never-seen records of the classes"):
        looked_at(s, s)
    s = split(table([0, 1, 0, 1], [1] * 20), "class:a")
    with pytest.raises(InputRefused, match="no never-seen records of the classes"):
        looked_at(s, s)


def test_training_records_are_not_taken_for_never_seen_ones(many):
    s = split(many, "class:a")
    leaky = replace(s, control=torch.cat([s.control, s.retain[:1]]))
    with pytest.raises(InputRefused, match="are training records"):
        looked_at(leaky, leaky)


def test_never_seen_records_of_a_class_that_was_forgotten_earlier_are_not_looked_at(many):
    earlier = [many.ids[row] for row in range(4000) if row % 3 == 1]
    s = split(many, "class:a", exclude=earlier)
    assert set(looked_at(s, s)["control"].labels.tolist()) == {0, 2}
