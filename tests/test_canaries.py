"""Canaries: exchangeable by construction, made again from three facts, and learned only by heart."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from sublimate.canaries import Canaries, canary_parts, plant, replant
from sublimate.data import Data, load
from sublimate.data.canary_images import patchwork
from sublimate.errors import InputRefused
from sublimate.inference import accuracy, predict
from sublimate.splits import split
from sublimate.testing.toy import toy_data
from sublimate.training import Recipe, fit


def table(kind: str) -> Data:
    """The toy data as uint8 pixels, float pixels, model-ready input, or read row by row."""
    data = toy_data()
    if kind == "float pixels":
        return replace(data, images=data.images.float() / 255)
    if kind == "model-ready":
        return replace(data, images=data.images.float() / 40 - 2, mean=None, std=None)
    if kind == "streamed":
        return replace(data, images=data.images.__getitem__, content="toy")
    return data


KINDS = ("uint8 pixels", "float pixels", "model-ready", "streamed")


@settings(max_examples=25, deadline=None)
@given(pairs=st.integers(1, 20), seed=st.integers(0, 2**31))
def test_half_are_in_and_each_pair_has_one_label_and_one_in(pairs, seed):
    data, canaries = plant(toy_data(), 2 * pairs, seed)
    assert canaries.inside.view(pairs, 2).sum(1).tolist() == [1] * pairs
    assert torch.equal(canaries.labels[::2], canaries.labels[1::2])
    assert data.sizes == (240 + pairs, 120, 0)


def test_the_coins_depend_on_the_seed_alone():
    coins = plant(toy_data(), 40, 3)[1].inside
    assert torch.equal(coins, plant(load("digits"), 40, 3)[1].inside)
    assert torch.equal(coins[:10], plant(toy_data(), 10, 3)[1].inside)
    assert not torch.equal(coins, plant(toy_data(), 40, 4)[1].inside)


def test_the_coins_are_fair_and_know_nothing_of_the_kind():
    firsts = torch.stack([plant(toy_data(), 40, seed)[1].inside[::2] for seed in range(50)])  # 50 x 20 coins
    for coins in (firsts[:, ::2], firsts[:, 1::2]):  # patchworks, noise: 500 each, deviation sqrt(500)/2 = 11.2
        assert abs(int(coins.sum()) - 250) < 4 * 11.2


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_the_old_one_with_the_canaries_behind_the_training_rows(kind):
    data = table(kind)
    before = data.read(torch.arange(360))[0].clone()
    planted, canaries = plant(data, 10, seed=1)
    x, y = planted.read(torch.arange(365))
    rows = torch.cat([torch.arange(240), torch.arange(245, 365)])
    assert torch.equal(x[rows], before) and torch.equal(y[rows], data.labels)
    assert torch.equal(x[240:245], canaries.images[canaries.inside]) and x.dtype == before.dtype
    assert torch.equal(y[240:245], canaries.labels[canaries.inside])
    assert planted.ids[:240] == data.ids and planted.ids[240:] == canaries.ids
    assert torch.equal(planted.labels[planted.test], data.labels[data.test])
    assert data.sizes == (240, 120, 0) and torch.equal(data.read(torch.arange(360))[0], before)
    assert planted.fingerprint != data.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_rows_may_be_read_in_any_order_and_none_at_all(kind):
    planted, canaries = plant(table(kind), 6, seed=0)
    x = planted.read(torch.tensor([243, 241, 0, 362]))[0]
    assert torch.equal(x[1], canaries.images[canaries.inside][1])
    assert torch.equal(x[[0, 2, 3]], table(kind).read(torch.tensor([240, 0, 359]))[0])
    assert len(planted.read(torch.empty(0, dtype=torch.long))[0]) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_facts_make_the_same_canaries(kind):
    (first, a), (again, b), (_, other) = (plant(table(kind), 8, seed) for seed in (5, 5, 6))
    assert first.fingerprint == again.fingerprint and a.facts == b.facts
    assert torch.equal(a.images, b.images)
    assert a.facts["digest"] != other.facts["digest"] and not torch.equal(a.images, other.images)
    assert first.fingerprint != plant(table(kind), 8, 6)[0].fingerprint


def test_ids_are_numbers_of_all_canaries():
    canaries = Canaries(
        images=torch.zeros(4, 1, 8, 8),
        labels=torch.zeros(4, dtype=torch.long),
        inside=torch.tensor([False, True, True, False]),
        seed=0,
    )
    assert canaries.ids == ("canary-0002", "canary-0003")


def test_a_patchwork_takes_each_patch_from_another_image_of_one_other_class():
    images = torch.arange(64, dtype=torch.uint8).view(64, 1, 1, 1).expand(64, 1, 8, 8)  # image i is all i
    labels = torch.arange(64) // 32
    data = Data(name="flat", images=images, labels=labels, sizes=(64, 0, 0), classes=("a", "b"), mean=(0,), std=(1,))
    pools = {0: torch.arange(32), 1: torch.arange(32, 64)}
    x = patchwork(data, pools, 0, torch.Generator().manual_seed(0))[0]
    assert int(x.min()) >= 32  # class 1 alone
    corners = x[::2, ::2]
    assert torch.equal(x, corners.repeat_interleave(2, 0).repeat_interleave(2, 1))  # 4 x 4 patches of 2 x 2 pixels
    assert len(corners.unique()) > 8


def test_mislabelled_canaries_look_like_another_class_and_noise_like_none():
    canaries = plant(toy_data(), 40, seed=0)[1]
    quadrants = canaries.images.float().view(40, 2, 4, 2, 4).mean((2, 4)).view(40, 4)  # the bright one is the class
    mislabelled = torch.arange(40) // 2 % 2 == 0
    assert not bool((quadrants.argmax(1) == canaries.labels)[mislabelled].any())
    spread = quadrants.max(1).values - quadrants.min(1).values
    assert float(spread[mislabelled].min()) > 60  # 90 in the toy data
    noise = canaries.images[~mislabelled].float()
    assert abs(float(noise.mean()) - 127.5) < 4 * 73.9 / (20 * 64) ** 0.5  # uniform in 0..255: deviation 73.9


@pytest.mark.parametrize(("kind", "low", "high"), [("float pixels", 0.0, 1.0), ("model-ready", -8.0, 9.0)])
def test_float_noise_stays_where_the_data_is(kind, low, high):
    canaries = plant(table(kind), 40, seed=0)[1]
    noise = canaries.images[torch.arange(40) // 2 % 2 == 1]
    assert low <= float(noise.min()) < float(noise.max()) <= high
    if kind == "model-ready":
        x = table(kind).images[:240]
        assert abs(float(noise.mean()) - float(x.mean())) < 0.2 and abs(float(noise.std() / x.std()) - 1) < 0.1


def test_the_parts_are_twins():
    planted, canaries = plant(toy_data(), 12, seed=2)
    inside, out = canary_parts(toy_data(), 12, seed=2)
    assert torch.equal(inside.labels, out.labels) and len(inside) == len(out) == 6
    assert torch.equal(inside.data.read(inside.rows)[0], canaries.images[canaries.inside])
    assert torch.equal(out.data.read(out.rows)[0], canaries.images[~canaries.inside])
    assert tuple(inside.data.ids[row] for row in inside.rows) == canaries.ids
    assert sorted(canaries.ids + out.data.ids) == [f"canary-{i:04d}" for i in range(1, 13)]
    assert (out.data.mean, out.data.classes) == (planted.mean, planted.classes)
    of_planted = canary_parts(planted, 12, seed=2)
    assert of_planted[0].data is planted and torch.equal(of_planted[1].data.images, out.data.images)


def test_planted_data_is_not_planted_again():
    planted, canaries = plant(toy_data(), 8, seed=0)
    again, same = plant(planted, 8, seed=0)
    assert again is planted and same.facts == canaries.facts
    for n, seed in ((8, 1), (10, 0)):
        with pytest.raises(InputRefused, match="canary-"):
            plant(planted, n, seed)


def test_class_counts_of_a_part_of_the_data_grow_with_it():
    data = replace(toy_data(), class_counts=(100, 200, 300, 400))
    planted, canaries = plant(data, 40, seed=0)
    added = [int((canaries.labels[canaries.inside] == k).sum()) for k in range(4)]
    assert planted.class_counts == tuple(100 * (k + 1) + added[k] for k in range(4)) and sum(added) == 20


def test_a_request_can_name_them():
    data, canaries = plant(toy_data(), 8, seed=0)
    asked = split(data, f"id:{','.join(canaries.ids)}")
    assert asked.forget.tolist() == [240, 241, 242, 243] and torch.equal(asked.control, asked.control.clamp(min=244))


@pytest.mark.parametrize("n", [0, -2, 3, 242])
def test_what_cannot_be_halved_or_hidden_is_refused(n):
    with pytest.raises(InputRefused, match="even number from 2 to 240"):
        plant(toy_data(), n, seed=0)


def test_one_class_is_refused():
    data = replace(toy_data(), labels=torch.zeros(360, dtype=torch.long))
    with pytest.raises(InputRefused, match="one class"):
        plant(data, 4, seed=0)


def test_what_a_file_says_is_verified():
    facts = plant(toy_data(), 8, seed=0)[1].facts
    assert replant(toy_data(), facts).sizes == (244, 120, 0)
    changed = replace(toy_data(), images=toy_data().images.flip(3))
    with pytest.raises(InputRefused, match="not those of the training"):
        replant(changed, facts)
    for wrong in ({}, facts | {"n": "8"}, facts | {"seed": None}):
        with pytest.raises(InputRefused, match="wrongly"):
            replant(toy_data(), wrong)


def test_the_random_state_of_the_caller_stays():
    before = torch.get_rng_state()
    canary_parts(toy_data(), 8, seed=0)
    assert torch.equal(before, torch.get_rng_state())


def test_a_network_that_memorises_knows_those_that_were_in():
    data, _ = plant(toy_data(), 40, seed=0)
    recipe = Recipe(epochs=60, batch_size=65, lr=0.1, weight_decay=0, schedule="one-cycle", views=lambda x, g, flip: x)
    inside, out = canary_parts(data, 40, seed=0)

    def build() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))

    model, _ = fit(build, split(data, "id:0").retain_set, recipe)
    assert accuracy(predict(model, inside), inside.labels) >= 95
    assert accuracy(predict(model, out), out.labels) < 50  # mislabelled: nil, noise: a guess among four
