from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.checkpoint import digest_of
from sublimate.errors import InputRefused, Interrupted
from sublimate.inference import LOOKING
from sublimate.models.ensemble import Ensemble
from sublimate.recording import SliceRecorder, find_recorder
from sublimate.records import TrainingRecords
from sublimate.splits import Part, split
from sublimate.training import Recipe, fit, rate
from sublimate.unlearn.sisa import Sisa
from sublimate.unlearn.slices import assign, slice_epochs

RECIPE = Recipe(epochs=3, batch_size=32, lr=0.05, weight_decay=1e-4, schedule="one-cycle", nesterov=True, warmup=1)
S, R = 3, 2


def convolution():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))


def dropping():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))


def train(data, rows=None, build=convolution, recipe=RECIPE, shards=S, slices=R, **more):
    part, recorder = Part(data, data.train if rows is None else rows, "train"), SliceRecorder(shards, slices)
    model, loop = fit(
        lambda: Ensemble(build() for _ in range(shards)), part, recipe, phases=recorder.phases, seed=5, **more
    )
    return model, recorder.records, loop


def erase(model, records, rows, **more):
    return Sisa(**more).run(model, rows.forget_set, rows.retain_set, ratios=rows.ratios, records=records)


@pytest.fixture(scope="module")
def made(toy):
    return train(toy.data)[:2]


def test_the_vote_by_hand():
    one, two = nn.Linear(1, 2, bias=False), nn.Linear(1, 2, bias=False)
    one.weight.data = torch.tensor([[3.0], [1.0]]).log()  # x = 1: (3/4, 1/4)
    two.weight.data.zero_()  # (1/2, 1/2)
    found = Ensemble([one, two])(torch.ones(1, 1))
    assert torch.allclose(found.exp(), torch.tensor([[0.625, 0.375]]), atol=1e-6)  # the mean of the two


def test_epochs_of_slices_by_hand():
    assert [slice_epochs(20, 1, r) for r in range(1)] == [20]
    assert [slice_epochs(15, 4, r) for r in range(4)] == [6, 6, 6, 6]  # 2·15/5
    assert [slice_epochs(5, 3, r) for r in range(3)] == [2, 3, 2]  # 2.5 each, summed and cut off: 2, 5, 7
    assert [slice_epochs(1, 4, r) for r in range(4)] == [1, 1, 1, 1]


@pytest.mark.parametrize(("rows", "shards", "slices"), [(240, 3, 2), (7, 2, 2), (101, 5, 4), (6, 3, 2)])
def test_nobody_is_lost(rows, shards, slices):
    cells = assign(rows, shards, slices, seed=1)
    sizes = cells.bincount(minlength=shards * slices)
    assert len(cells) == rows == int(sizes.sum()) and int(cells.max()) < shards * slices
    assert int(sizes.max() - sizes.min()) <= 1
    assert torch.equal(cells, assign(rows, shards, slices, seed=1))
    assert rows < 10 or not torch.equal(cells, assign(rows, shards, slices, seed=2))


REQUESTS = {
    "one record": "id:7",
    "several shards": "id:1,2,3,4,5,6,7,8",
    "a class": "class:b",
}


@pytest.mark.parametrize("build", [convolution, dropping])
@pytest.mark.parametrize("request_", REQUESTS)
def test_deletion_equals_training_without_to_the_bit(toy, made, build, request_):
    model, records = made if build is convolution else train(toy.data, build=build)[:2]
    rows = split(toy.data, REQUESTS[request_], few="all")
    outcome = erase(model, records, rows, seed=99)  # the method's own seed plays no part
    never, its_records, _ = train(toy.data, rows.retain, build=build)
    assert digest_of(outcome.model.state_dict()) == digest_of(never.state_dict()) != digest_of(model.state_dict())
    assert outcome.records.header == its_records.header
    assert digest_of(outcome.records.tensors) == digest_of(its_records.tensors)


def test_one_record_retrains_one_shard_from_its_slice(toy, made):
    model, records = made
    cells = records.tensor("cells")
    late = int((cells == 1 * R + 1).nonzero()[0])  # a row in shard 1, slice 1
    seen = []

    def reader(rows):
        if not LOOKING.get():
            seen.extend(rows.tolist())
        return toy.data.images[rows]

    counted = replace(toy.data, images=reader)
    counted.__dict__["fingerprint"] = toy.data.fingerprint
    rows = split(counted, f"id:{late}", few="all")
    outcome = erase(model, records, rows)
    for s in (0, 2):
        assert digest_of(outcome.model.shards[s].state_dict()) == digest_of(model.shards[s].state_dict())
    assert digest_of(outcome.model.shards[1].state_dict()) != digest_of(model.shards[1].state_dict())
    shard = [row for row in range(240) if cells[row] // R == 1 and row != late]
    epochs = 2  # of slice 1: 2·3/3
    assert outcome.record.samples == {"retain": epochs * len(shard)} == {"retain": epochs * 79}
    assert sorted(seen) == sorted(epochs * shard + [late, int(rows.retain[0])])  # two looks at the shape
    assert outcome.record.choices["retrained"] == {"shard 2": "from slice 2"}


def test_requests_one_after_the_other(toy, made):
    model, records = made
    first = erase(model, records, split(toy.data, "id:7", few="all"))
    second = erase(first.model, first.records, split(toy.data, "id:8,9", few="all", exclude=["7"]))
    never = train(toy.data, split(toy.data, "id:7,8,9").retain)[0]
    assert digest_of(second.model.state_dict()) == digest_of(never.state_dict())


def test_an_emptied_slice_and_an_emptied_shard(toy, made):
    model, records = made
    for gone in (records.tensor("cells") == 0, records.tensor("cells") < R):
        rows = split(toy.data, "id:" + ",".join(map(str, gone.nonzero().flatten().tolist())), few="all")
        never = train(toy.data, rows.retain)[0]
        assert digest_of(erase(model, records, rows).model.state_dict()) == digest_of(never.state_dict())


def test_against_a_plain_loop(toy):
    """Whole-batch descent without views: shard by shard, slice by slice, written out."""
    recipe = Recipe(epochs=3, batch_size=500, lr=0.1, weight_decay=0.01, schedule="one-cycle", warmup=1, views="none")
    model, records, _ = train(toy.data, build=dropless, recipe=recipe)
    cells = records.tensor("cells")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for s in range(S):
            shard = dropless()
            shard.load_state_dict({k: records.tensor(f"state.{s}.0.{k}") for k in shard.state_dict()})
            for r in range(R):
                rows = torch.tensor([row for row in range(240) if s * R <= cells[row] <= s * R + r])
                x, y = toy.data.read(rows)
                velocity = [torch.zeros_like(p) for p in shard.parameters()]
                for t in range(2):  # 2·3/(2+1) epochs
                    loss = F.cross_entropy(shard(toy.data.normalise(x)), y)
                    grads = torch.autograd.grad(loss, list(shard.parameters()))
                    for p, v, g in zip(shard.parameters(), velocity, grads, strict=True):
                        v.mul_(0.9).add_(g + 0.01 * p.data)
                        p.data -= 0.1 * rate(recipe, t / 2) * v
            for mine, theirs in zip(model.shards[s].parameters(), shard.parameters(), strict=True):
                assert torch.allclose(mine, theirs, atol=1e-6)


def dropless():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 4))


class Memory:
    data = None

    def load(self):
        return self.data

    def save(self, data):
        self.data = data


def stopped_everywhere(call):
    saver, stops = Memory(), 0
    while True:
        asked = iter([True])
        try:
            return call(saver=saver, interrupted=lambda asked=asked: next(asked, False)), stops
        except Interrupted:
            stops += 1


def test_training_killed_after_every_update_keeps_the_same_records(toy, made):
    (model, records, _), stops = stopped_everywhere(lambda **more: train(toy.data, **more))
    assert stops > 10
    assert digest_of(model.state_dict()) == digest_of(made[0].state_dict())
    assert digest_of(records.tensors) == digest_of(made[1].tensors) and records.header == made[1].header


def test_deletion_killed_after_every_update_keeps_the_same_records(toy, made):
    rows = split(toy.data, "id:1,2,3,4", few="all")
    whole = erase(*made, rows)
    given = {"ratios": rows.ratios, "records": made[1]}
    broken, _ = stopped_everywhere(lambda **more: Sisa().run(made[0], rows.forget_set, rows.few_set, **given, **more))
    assert digest_of(broken.model.state_dict()) == digest_of(whole.model.state_dict())
    assert digest_of(broken.records.tensors) == digest_of(whole.records.tensors)


def test_the_callers_records_stay(toy, made):
    before = digest_of(made[1].tensors)
    erase(*made, split(toy.data, "id:1,2,3", few="all"))
    assert digest_of(made[1].tensors) == before


def test_refusals(toy, made):
    model, records = made
    rows = split(toy.data, "id:7", few="all")
    with pytest.raises(InputRefused, match="lacks .* of the shards that must be retrained"):
        few = split(toy.data, "id:7", few=60)
        Sisa().run(model, few.forget_set, few.few_set, ratios=few.ratios, records=records)
    with pytest.raises(InputRefused, match="belong to another network"):
        erase(train(toy.data, build=dropping)[0], records, rows)
    with pytest.raises(InputRefused, match="other data"):
        erase(model, records, split(replace(toy.data, std=(0.5,)), "id:7", few="all"))
    with pytest.raises(InputRefused, match="kept for amnesiac-true"):
        other = replace(records, header=replace(records.header, method="amnesiac-true"))
        erase(model, other, rows)
    with pytest.raises(InputRefused, match="in no slice"):
        again = erase(model, records, rows)
        erase(again.model, again.records, rows)
    with pytest.raises(InputRefused, match="str is no records"):
        erase(model, "records.safetensors", rows)
    with pytest.raises(InputRefused, match="how slices are trained"):
        erase(model, replace(records, header=replace(records.header, values={})), rows)
    with pytest.raises(InputRefused, match="lack 'cells'"):
        erase(model, TrainingRecords(header=records.header, tensors={}), rows)
    with pytest.raises(InputRefused, match="no state that fits"):
        erase(model, replace(records, tensors={"cells": records.tensor("cells")}), rows)
    with pytest.raises(InputRefused, match="no ensemble"):
        alike = copy.deepcopy(model)
        alike.__class__ = type("Alike", (nn.Module,), {"forward": Ensemble.forward})
        erase(alike, records, rows)
    with pytest.raises(InputRefused, match="cannot fill 100000 shards of 4 slices"):  # before they are built
        find_recorder("sisa", "small-cnn", toy.data, shards=100_000)
    with pytest.raises(InputRefused, match="cannot fill"):
        train(toy.data, shards=20, slices=20)
    with pytest.raises(InputRefused, match="have no name"):
        train(toy.data, recipe=replace(RECIPE, views=lambda x, generator: x))
    with pytest.raises(InputRefused, match="has not 3 shards"):
        fit(convolution, Part(toy.data, toy.data.train, "train"), RECIPE, phases=SliceRecorder(3, 2).phases)


def test_the_architecture_of_an_ensemble(toy):
    from sublimate.networks import factory

    name = find_recorder("sisa", "small-cnn", toy.data, shards=3, slices=2, watch=None, seed=0)[1]
    built = factory(name, toy.data)()
    assert isinstance(built, Ensemble) and len(built.shards) == 3
    assert built.eval()(torch.zeros(2, 1, 8, 8)).shape == (2, 4)
