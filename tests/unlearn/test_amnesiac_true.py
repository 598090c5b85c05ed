from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.checkpoint import digest_of
from sublimate.data.batches import Batches, Meter
from sublimate.data.core import Data
from sublimate.errors import InputRefused, Interrupted, UsageError
from sublimate.randomness import derive
from sublimate.recording import UpdateRecorder, find_recorder
from sublimate.splits import Part, split
from sublimate.training import Recipe, fit
from sublimate.unlearn.amnesiac_true import AmnesiacTrue, subtract, touched

PLAIN = Recipe(epochs=1, batch_size=80, lr=0.1, weight_decay=0, momentum=0, schedule="steps", views="none")
STILL = {"lr": 1e-30, "epochs": 1, "norm": "eval"}  # a repair that moves nothing
SEED = 3


def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 4))


def convolution():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))


def train(data, watched, build=linear, recipe=PLAIN, **more):
    recorder = UpdateRecorder(torch.tensor(watched))
    part = Part(data, data.train, "train")
    model, _ = fit(build, part, recipe, seed=SEED, phases=recorder.phases, **more)
    return model, recorder.records


def erase(model, records, rows, **options):
    return AmnesiacTrue(**options).run(model, rows.forget_set, rows.retain_set, ratios=rows.ratios, records=records)


def batches(data, size):
    """The rows of each batch of the first epoch."""
    part = Part(data, data.train, "train")
    found = Batches(part, size, seed=SEED, meter=Meter(), device=torch.device("cpu"))
    return [part.rows[found.at(t).places] for t in range(len(found))]


THREE = Data(
    name="three",
    images=torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).view(3, 1, 1, 2),
    labels=torch.tensor([0, 1, 0]),
    sizes=(3, 0, 0),
    classes=("a", "b"),
)


def zeros():
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    nn.init.zeros_(model[1].weight)
    return model


def test_an_update_and_its_subtraction_by_hand():
    # W = 0, so p = (1/2, 1/2) for all.  dCE/dW = 1/3 Σ (p − e_y) xᵀ; its first row is
    # 1/3 [−½ (1,0) + ½ (0,1) − ½ (1,1)] = (−1/3, 0), its second the negative.  Δ = −lr · that, lr = 0.3.
    delta = torch.tensor([[0.1, 0.0], [-0.1, 0.0]])
    model, records = train(THREE, [2], zeros, replace(PLAIN, batch_size=3, lr=0.3))
    assert records.tensor("rows.0").tolist() == [2] and records.tensor("watched").tolist() == [2]
    assert torch.allclose(records.tensor("update.0.1.weight"), delta, atol=1e-6)
    assert torch.allclose(model[1].weight, delta, atol=1e-6)
    rows = split(THREE, "id:2", few="all")
    outcome = erase(model, records, rows, **STILL)
    assert torch.allclose(outcome.model[1].weight, torch.zeros(2, 2), atol=1e-6)
    assert outcome.record.choices["updates_subtracted"] == 1
    assert outcome.record.samples == {"retain": 2}


def test_each_batch_is_subtracted_once():
    model = zeros()
    nn.init.ones_(model[1].weight)
    tensors = {"rows.0": torch.tensor([4, 5]), "rows.10": torch.tensor([5]), "rows.1": torch.tensor([6])}
    assert touched(tensors, torch.tensor([4, 5])) == ["0", "10"]
    assert touched(tensors, torch.tensor([7])) == []
    subtract(model, [{"1.weight": torch.full((2, 2), 0.25)}, {"1.weight": torch.full((2, 2), 0.5)}])
    assert torch.equal(model[1].weight, torch.full((2, 2), 0.25))  # 1 − 1/4 − 1/2
    model[1].weight.requires_grad_(False)
    subtract(model, [{"1.weight": torch.ones(2, 2)}])
    assert torch.equal(model[1].weight, torch.full((2, 2), 0.25))  # frozen


def test_the_last_update_is_as_if_never_made(toy):
    order = batches(toy.data, 80)
    row = int(order[2][0])
    model, records = train(toy.data, [row])
    assert [name for name in records.tensors if name.startswith("rows.")] == ["rows.2"]
    erased = erase(model, records, split(toy.data, f"id:{row}", few="all"), **STILL).model
    with torch.random.fork_rng():  # the first two updates alone, written out
        torch.manual_seed(derive(SEED, "init"))
        never = linear()
    for rows in order[:2]:
        x, y = toy.data.read(rows)
        grads = torch.autograd.grad(F.cross_entropy(never(toy.data.normalise(x)), y), list(never.parameters()))
        for p, g in zip(never.parameters(), grads, strict=True):
            p.data -= 0.1 * g
    for mine, theirs in zip(erased.parameters(), never.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)
    assert not torch.allclose(model[1].weight, never[1].weight, atol=1e-4)


def test_recording_changes_nothing_of_the_training(toy):
    part = Part(toy.data, toy.data.train, "train")
    recipe = replace(PLAIN, epochs=3, momentum=0.9, batch_size=32, views="simple")
    watched, _ = train(toy.data, list(range(20)), convolution, recipe)
    assert digest_of(watched.state_dict()) == digest_of(fit(convolution, part, recipe, seed=SEED)[0].state_dict())


def test_all_updates_together_are_the_way_from_the_start(toy):
    """Whoever takes back every update is at the initial weights; batch norm's running statistics stay."""
    recipe = replace(PLAIN, epochs=2, momentum=0.9, weight_decay=1e-3)
    model, records = train(toy.data, list(range(240)), convolution, recipe)
    start, _ = fit(convolution, Part(toy.data, toy.data.train[:1], "train"), replace(PLAIN, lr=1e-30), seed=SEED)
    statistics = model[1].running_mean.clone()
    subtract(model, [{k: records.tensor(f"update.{b}.{k}") for k in dict(model.named_parameters())} for b in range(6)])
    for mine, theirs in zip(model.parameters(), start.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)
    assert not any("running" in name for name in records.tensors)
    assert torch.equal(model[1].running_mean, statistics)


def test_repair_against_a_plain_loop(toy):
    model, records = train(toy.data, [5])
    rows = split(toy.data, "id:5", few="all")
    options = {"lr": 1e-2, "epochs": 3, "batch_size": 500, "views": "none"}
    erased = erase(model, records, rows, **options).model
    slow = linear()
    slow.load_state_dict(model.state_dict())
    subtract(slow, [{k: records.tensor(f"update.{b}.{k}") for k in slow.state_dict()} for b in touched_by(records, 5)])
    x, y = toy.data.read(rows.retain)
    optimizer = torch.optim.Adam(slow.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(slow(toy.data.normalise(x)), y).backward()
        optimizer.step()
    for mine, theirs in zip(erased.parameters(), slow.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def touched_by(records, row):
    return touched(records.tensors, torch.tensor([row]))


def test_requests_one_after_the_other(toy):
    model, records = train(toy.data, [5, 6, 7], recipe=replace(PLAIN, epochs=2))
    first = erase(model, records, split(toy.data, "id:5", few="all"))
    assert first.records.tensor("watched").tolist() == [6, 7]
    gone = touched_by(records, 5)
    assert not any(name.split(".")[1:2] == [b] for name in first.records.tensors for b in gone)
    second = erase(first.model, first.records, split(toy.data, "id:6", few="all", exclude=["5"]))
    assert second.record.choices["updates_subtracted"] == len(set(touched_by(records, 6)) - set(gone))


def test_killed_after_every_update_keeps_the_same_records(toy):
    class Memory:
        data = None

        def load(self):
            return self.data

        def save(self, data):
            self.data = data

    recipe = replace(PLAIN, epochs=2)
    model, records = train(toy.data, [1, 2, 3], convolution, recipe)
    saver, stops = Memory(), 0
    while True:
        asked = iter([True])
        try:
            more = {"saver": saver, "interrupted": lambda asked=asked: next(asked, False)}
            broken, its_records = train(toy.data, [1, 2, 3], convolution, recipe, **more)
            break
        except Interrupted:
            stops += 1
    assert stops == 6
    assert digest_of(broken.state_dict()) == digest_of(model.state_dict())
    assert digest_of(its_records.tensors) == digest_of(records.tensors) and its_records.header == records.header


def test_refusals(toy):
    model, records = train(toy.data, [5, 6])
    with pytest.raises(InputRefused, match="2 of the records to forget were not watched"):
        erase(model, records, split(toy.data, "id:5,7,8", few="all"))
    with pytest.raises(InputRefused, match="another network"):
        erase(toy.model, records, split(toy.data, "id:5", few="all"))
    with pytest.raises(InputRefused, match="records"):
        erase(model, None, split(toy.data, "id:5", few="all"))
    with pytest.raises(UsageError, match="--watch"):
        find_recorder("amnesiac-true", "small-cnn", toy.data, shards=5, slices=4, watch=None, seed=0)
    with pytest.raises(UsageError, match="nearest first: sisa"):
        find_recorder("siza", "small-cnn", toy.data, shards=5, slices=4, watch=None, seed=0)
