"""The stop rule on a network whose logits are written in the pixels."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sublimate.data.core import Data
from sublimate.errors import InputRefused
from sublimate.splits import Part, split
from sublimate.unlearn.job import Job
from sublimate.unlearn.met import Met


class FirstPixels(nn.Module):
    """Two logits: the first pixel plus a shift, and nil; so φ of class 0 is that sum."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        first = x[:, 0, 0, 0] + self.shift
        return torch.stack([first, torch.zeros_like(first)], 1)


def job_of(forget, kept, unseen, ratios=(0.1, 0.0)):
    """All of class a, but for one never-seen record of class b that the network gets right."""
    values = torch.tensor([*forget, *kept, *unseen, -5.0])
    labels = torch.zeros(len(values), dtype=torch.long)
    labels[-1] = 1
    data = Data(
        name="written",
        images=values.view(-1, 1, 1, 1).expand(-1, 1, 2, 2).contiguous(),
        labels=labels,
        sizes=(len(forget) + len(kept), len(unseen) + 1, 0),
        classes=("a", "b"),
    )
    n = len(forget)
    model = FirstPixels()
    return Job(
        model=model,
        original=FirstPixels(),
        forget=Part(data, torch.arange(n), "forget"),
        retain=Part(data, torch.arange(n, n + len(kept)), "retain"),
        val=Part(data, data.test, "val"),
        ratios=torch.tensor(ratios),
        seed=0,
        device=torch.device("cpu"),
    )


def test_target_is_the_never_seen_value_at_the_records_rank():
    kept = [float(v) for v in range(10, 35)]  # 25 retained records: 10 … 34
    unseen = [float(v) for v in range(0, 21)]  # 21 never-seen ones: 0 … 20
    met = Met(job_of([22.5, 9.0, 99.0], kept, unseen))
    # 22.5 stands above 13 of 25: rank .52; of 21 evenly spaced values the .52 quantile is .52 · 20 = 10.4.
    # 9 stands below all and 99 above all: their ranks are cut to .1 and .9, so 2 and 18.
    torch.testing.assert_close(met.targets, torch.tensor([10.4, 2.0, 18.0], dtype=torch.double))


def test_above_compares_the_mean_of_two_views():
    met = Met(job_of([22.5], [float(v) for v in range(10, 35)], [float(v) for v in range(21)]))
    y = torch.tensor([0])

    def logits(value):
        return torch.tensor([[value, 0.0]])

    assert bool(met.above(torch.tensor([0]), logits(10.0), logits(11.0), y))  # 10.5 > 10.4
    assert not bool(met.above(torch.tensor([0]), logits(10.0), logits(10.7), y))


def test_done_when_the_median_meets_its_target_and_the_rest_is_well():
    job = job_of([22.5] * 3, [float(v) for v in range(10, 35)], [float(v) for v in range(1, 22)])
    met = Met(job)
    seen, reason = met.measure()
    assert reason is None and not met.forgotten
    assert seen["excess"] == pytest.approx(22.5 - 11.4)
    job.forget.data.images[job.forget.rows] = 11.0  # as if the network had forgotten these
    seen, reason = met.measure()
    assert met.forgotten and reason is not None
    assert seen["retained"] == 100


def test_whole_classes_must_not_be_recognised_at_all():
    job = job_of([-1.0] * 199 + [1.0], [5.0] * 25, [5.0] * 21, ratios=(1.0, 0.0))
    seen, _ = Met(job).measure()
    assert seen["gone"] == pytest.approx(0.5)
    assert seen["excess"] == 0


def test_targets_follow_the_present_network():
    job = job_of([22.5], [float(v) for v in range(10, 35)], [float(v) for v in range(21)])
    met = Met(job)
    job.model.shift.data -= 3
    met.measure()
    torch.testing.assert_close(met.targets, torch.tensor([7.4], dtype=torch.double))


def test_needs_never_seen_records():
    job = job_of([1.0], [2.0], [3.0])
    job.val = None
    with pytest.raises(InputRefused, match="never-seen"):
        Met(job)


def test_a_part_whose_rows_are_in_another_order_has_the_same_targets(toy):
    given = split(toy.data, "random@40%", few=60)
    turned = given.forget_set.where(torch.arange(len(given.forget)).flip(0))
    common = {"model": toy.model, "original": toy.model, "retain": given.few_set, "val": given.val_set}
    one, other = (
        Met(Job(forget=forget, ratios=given.ratios, seed=0, device=torch.device("cpu"), **common))
        for forget in (given.forget_set, turned)
    )
    assert one.measure() == other.measure()
    assert one.targets.tolist() == other.targets.flip(0).tolist()


def test_without_a_stop_rule_the_rest_never_counts_as_recovered():
    # Concentration rests while it does, and nothing would ever wake it.
    job = job_of([22.5, 9.0], [float(v) for v in range(10, 35)], [float(v) for v in range(0, 21)])
    assert bool(Met(job).recovered) and not bool(Met(job, stops=False).recovered)
