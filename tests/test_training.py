from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sublimate.errors import Interrupted, UsageError
from sublimate.networks import factory
from sublimate.phase import cosine
from sublimate.splits import Part
from sublimate.training import RECIPES, Recipe, find_recipe, fit, rate


def test_the_papers_schedule_by_hand():
    paper = RECIPES["paper"]
    epochs = [0, 1, 2, 59, 60, 119, 120, 159, 160, 199]
    expected = [0, 0.5, 1, 1, 0.2, 0.2, 0.04, 0.04, 0.008, 0.008]
    assert [rate(paper, e / 200) for e in epochs] == pytest.approx(expected)
    assert (paper.lr, paper.momentum, paper.weight_decay, paper.epochs) == (1e-3, 0.9, 1e-4, 200)


def test_one_cycle_rises_then_falls_to_nil():
    fast = RECIPES["fast"]
    factors = [rate(fast, i / 150) for i in range(151)]
    top = factors.index(max(factors))
    assert max(factors) == pytest.approx(1) and factors[-1] == pytest.approx(0)
    assert factors[: top + 1] == sorted(factors[: top + 1]) and factors[top:] == sorted(factors[top:], reverse=True)
    assert cosine(0.25) == pytest.approx(0.8535534)


def test_a_shorter_run_keeps_the_shape():
    short = find_recipe("paper", epochs=20)
    assert (short.warmup, short.milestones) == (0.2, (6, 12, 16))
    assert find_recipe("fast", epochs=None, views="cutout").views == "cutout"
    with pytest.raises(UsageError, match="nearest first: fast"):
        find_recipe("fats")


TINY = Recipe(epochs=4, batch_size=32, lr=0.05, weight_decay=1e-4, schedule="one-cycle", warmup=1)


def state(model):
    return torch.cat([t.flatten().double() for t in model.state_dict().values()])


def test_learns_and_repeats_and_leaves_the_random_state(toy):
    part, build = Part(toy.data, toy.data.train, "train"), factory("small-cnn", toy.data)
    before = torch.get_rng_state()
    first, loop = fit(build, part, TINY, seed=1)
    second, _ = fit(build, part, TINY, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(state(first), state(second))
    assert not torch.equal(state(first), state(fit(build, part, TINY, seed=2)[0]))
    assert loop.meter["train"] == 4 * 240
    assert loop.history[-1]["ce"] < loop.history[0]["ce"] / 2


def test_retrain_never_reads_the_forgotten_rows(toy):
    seen = set()

    def reader(rows):
        seen.update(rows.tolist())
        return toy.data.images[rows]

    watched = replace(toy.data, images=reader, content="watched")
    fit(factory("small-cnn", toy.data), Part(watched, toy.split.retain, "train"), TINY)
    assert seen == set(toy.split.retain.tolist())


def test_interrupted_and_continued(toy):
    class Saver:
        data = None

        def load(self):
            return self.data

        def save(self, data):
            self.data = data

    part, build = Part(toy.data, toy.data.train, "train"), factory("small-cnn", toy.data)
    whole, saver = fit(build, part, TINY)[0], Saver()
    for _ in range(5):
        asked = iter([False, True])
        with pytest.raises(Interrupted):
            fit(build, part, TINY, saver=saver, interrupted=lambda asked=asked: next(asked))
    assert torch.equal(state(fit(build, part, TINY, saver=saver)[0]), state(whole))
