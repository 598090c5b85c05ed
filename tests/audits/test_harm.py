"""Harm: every figure by hand, and only to what stays."""

import pytest
import torch

from sublimate.audits.harm import AT_ONCE, complaints, harm, nearest, staying
from sublimate.audits.outputs import Outputs

NONE = torch.tensor([], dtype=torch.long)


def said(z, y):
    z = torch.tensor(z, dtype=torch.float)
    return Outputs(z, z, z, torch.tensor(y))


def test_the_nearest_twentieth_of_the_retained_records():
    retain = torch.arange(40.0)[:, None]
    # Distances to 10 and 30: the two nearest of 40 are 10 and 30 themselves.
    assert nearest(retain, torch.tensor([[30.0], [10.0]])).tolist() == [10, 30]
    assert nearest(retain[:3], torch.tensor([[9.0]])).tolist() == [2]  # one at least
    many = torch.randn(2 * AT_ONCE + 7, 3, generator=torch.Generator().manual_seed(0))
    slow = torch.tensor([min(float((row - f).norm()) for f in many[:5]) for row in many])
    assert nearest(many, many[:5]).tolist() == slow.argsort(stable=True)[: round(0.05 * len(many))].tolist()


def parts(retain, never, forget=([[0.0, 0.0]], [0])):
    return {"forget": said(*forget), "control": said(*never), "never": said(*never), "retain": said(*retain)}


def test_figures_by_hand():
    retain = [[2.0, 0.0], [0.0, 3.0]], [0, 1]
    before = parts(retain, ([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0], [1.0, 0.0]], [0, 1, 1, 0]))
    after = parts(retain, ([[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [0.0, 1.0]], [0, 1, 1, 0]))
    found = harm(before, after, NONE, ("a", "b"))
    assert found["accuracy"] == {"before": 75.0, "after": 25.0}
    assert found["accuracy by class"] == {"a": {"before": 100.0, "after": 50.0}, "b": {"before": 50.0, "after": 0.0}}
    # The record at [2, 0] is nearer to [0, 0] than that at [0, 3]; both are right.
    assert found["accuracy near"] == {"before": 100.0, "after": 100.0}
    # Before: φ = 2 against 9 and 1 (one of two), 3 against 9 and −9 (one of two).  After: 9 and −1; −9 and −9.
    assert found["exposure of retained"] == {"before": 0.5, "after": 0.75}
    assert complaints(found) == [
        "Harm: accuracy on the classes that stay fell by 50.0 points.",
        "Harm: retained records have become easier to tell from never-seen ones (AUC 0.500 before, 0.750 after).",
    ]


def test_nothing_is_expected_of_classes_that_are_gone():
    retain = [[2.0, 0.0]], [0]
    before = parts(retain, ([[9.0, 0.0], [0.0, 9.0]], [0, 1]))
    after = parts(retain, ([[9.0, 0.0], [9.0, 0.0]], [0, 1]))
    found = harm(before, after, torch.tensor([1]), ("a", "b"))
    assert found["accuracy"] == {"before": 100.0, "after": 100.0} and complaints(found) == []
    assert found["calibration error"]["before"] == found["calibration error"]["after"] == pytest.approx(0.0001)
    assert found["accuracy by class"]["b"] == {"before": 100.0, "after": 0.0}


def test_without_never_seen_records_of_what_stays_the_retained_ones_are_asked():
    out = parts(([[2.0, 0.0]], [0]), ([[0.0, 9.0]], [1]))
    assert staying(out, torch.tensor([1])) is out["retain"]
    found = harm(out, out, torch.tensor([1]), ("a", "b"))
    assert found["exposure of retained"] == {"before": 0.5, "after": 0.5}  # no class is shared: nothing is told


def test_small_losses_are_not_complained_of():
    found = {
        "accuracy": {"before": 90.0, "after": 87.0},
        "exposure of retained": {"before": 0.6, "after": 0.62},
    }
    assert complaints(found) == []
