"""Outputs: three passes in one reading, repeatable views, and nothing of the network changed."""

import pytest
import torch
from torch import nn

from sublimate.audits import outputs
from sublimate.audits.outputs import FAR, PASSES, Outputs, collect
from sublimate.errors import InputRefused
from sublimate.inference import predict
from sublimate.splits import Part
from sublimate.testing.toy import ZOO
from sublimate.testing.world import Watch, differences, surroundings


def test_clean_logits_are_those_of_a_plain_pass_and_views_differ(toy):
    part = Part(toy.data, toy.data.test, "test")
    out = collect(toy.model, part, seed=0)
    assert torch.allclose(out.z, predict(toy.model, part), atol=1e-5) and torch.equal(out.labels, part.labels)
    assert not torch.equal(out.v1, out.z) and not torch.equal(out.v1, out.v2)
    assert len(out) == 120 and not out.z.is_inference()


def test_views_repeat_with_seed_and_part_and_are_the_same_for_every_network(toy):
    class Pixels(nn.Module):
        def forward(self, x):
            return x.flatten(1)[:, 20:24]

    part = Part(toy.data, toy.data.test[:7], "test")
    one, again, other = (collect(Pixels(), part, seed) for seed in (0, 0, 1))
    assert torch.equal(one.v1, again.v1) and torch.equal(one.v2, again.v2)
    assert not torch.equal(one.v1, other.v1) and torch.equal(one.z, other.z)


def test_rows_are_read_once_and_batches_leave_no_seam(toy, monkeypatch):
    monkeypatch.setattr(outputs, "BATCH", 50)
    watch, ticks = Watch(toy.data), []
    part = Part(watch.data, toy.data.test, "test")
    out = collect(toy.model, part, 0, ticks.append)
    assert set(watch.judged.values()) == {1} and ticks == [150, 150, 60]  # PASSES · 50, 50 and 20 rows
    assert torch.allclose(out.z, predict(toy.model, part), atol=1e-5)


def test_an_empty_part_gives_no_rows(toy):
    out = collect(toy.model, Part(toy.data, toy.data.test[:0], "test"), 0)
    assert out.z.shape == out.v1.shape == (0, 4) and len(out) == 0


@pytest.mark.parametrize("last", [1.0, float("nan")])
def test_infinite_logits_become_far_ones_and_what_is_no_number_is_refused(toy, last):
    class Odd(nn.Module):
        def forward(self, x):
            return torch.tensor([float("inf"), -float("inf"), 2.0, last]).expand(len(x), 4)

    part = Part(toy.data, toy.data.test[:2], "control")
    if last != last:
        with pytest.raises(InputRefused, match="Some answers to control records are not a number"):
            collect(Odd(), part, 0)
    else:
        assert collect(Odd(), part, 0).z[0].tolist() == [FAR, -FAR, 2.0, 1.0]


@pytest.mark.parametrize("kind", ZOO)
def test_nothing_of_the_callers_changes(kind, toy):
    model = ZOO[kind]().train()
    before = surroundings(model)
    collect(model, Part(toy.data, toy.data.test, "test"), 0)
    assert not differences(before, surroundings(model))


def test_modes_come_back_after_an_exception(toy):
    model = nn.Sequential(nn.Flatten(), nn.Linear(3, 4)).train()  # 64 pixels do not fit
    before = surroundings(model)
    with pytest.raises(InputRefused):
        collect(model, Part(toy.data, toy.data.test, "test"), 0)
    assert not differences(before, surroundings(model))


def test_where_takes_marks_and_places():
    z = torch.arange(6.0).view(3, 2)
    out = Outputs(z, z + 10, z + 20, torch.tensor([0, 1, 0]))
    marked, named = out.where(out.labels == 0), out.where(torch.tensor([2, 0]))
    assert marked.z.tolist() == [[0, 1], [4, 5]] and named.v2.tolist() == [[24, 25], [20, 21]]
    assert named.labels.tolist() == [0, 0] and PASSES == 3
