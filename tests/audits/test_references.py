"""References: each is another network, of the same split, and does not know the records; else it is refused."""

import copy

import pytest
import torch
from torch import nn

from sublimate.audits.auditing import audit
from sublimate.audits.references import listed


def told(problem, model, *references):
    return audit(model, original=problem.original, split=problem.split, reference=references)


def shaken(model, size):
    other = copy.deepcopy(model)
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for w in other.parameters():
            w *= 1 + size * torch.randn(w.shape, generator=g)
    return other


def test_one_or_several_with_or_without_a_fingerprint():
    one, two = nn.Linear(1, 1), nn.Linear(1, 1)
    assert listed(None) == listed([]) == []
    assert listed(one) == listed([one]) == listed((one, None)) == [(one, None)]
    assert listed((one, "abc")) == listed([(one, "abc")]) == [(one, "abc")]
    assert listed((one, two)) == [(one, None), (two, None)]
    assert listed([(one, "abc"), two]) == [(one, "abc"), (two, None)]


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-3])
def test_no_network_is_its_own_yardstick(by_heart, size):
    mine, other, _ = by_heart.retrained
    found = told(by_heart, mine, shaken(mine, size), other, shaken(other, size), shaken(by_heart.original, size))
    assert [s.what for s in found.skipped] == ["reference 1", "reference 3", "reference 4"]
    whys = ("the network under audit", "reference 2", "the original")
    assert all(f"as good as, {who}:" in s.why for who, s in zip(whys, found.skipped, strict=True))
    assert [g.passed for g in found.gates if g.name == "clean reference"] == [False, True, False, False]


def test_a_reference_with_another_last_layer_or_inside_the_network_is_no_other(by_heart):
    mine, other, _ = by_heart.retrained
    edited = copy.deepcopy(mine)
    with torch.no_grad():
        edited[3].bias += torch.tensor([3.0, 0.0, 0.0, -3.0])
    assert [s.what for s in told(by_heart, mine, edited).skipped] == ["reference 1"]
    assert [s.what for s in told(by_heart, nn.Sequential(other, nn.Softplus()), other).skipped] == ["reference 1"]


def test_a_fingerprint_is_checked_and_without_one_the_reference_is_unverified(by_heart):
    mine, other, third = by_heart.retrained
    found = told(by_heart, mine, (other, by_heart.split.fingerprint), third)
    said = [g.says for g in found.gates if g.name == "clean reference"]
    assert ["Unverified" in text for text in said] == [False, True]
    (refused,) = told(by_heart, mine, (other, "another")).skipped
    assert refused.why.startswith("It belongs to split another, this request to split ")
