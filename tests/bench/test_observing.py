"""Looking at a network along a run changes nothing: the same bytes, modes and random state."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from sublimate.checkpoint.core import digest_of
from sublimate.errors import Interrupted
from sublimate.store import Store
from sublimate.unlearn import method


def run(toy, unlearner, **more):
    s = toy.split
    return unlearner.run(toy.model, s.forget_set, s.few_set, ratios=s.ratios, val=s.val_set, **more).model


def meddling(seen):
    """Looks, and leaves all that it may touch in another state."""

    def observe(network, done, total):
        seen.append((done, total))
        network.eval() if len(seen) % 2 else network.train()
        torch.rand(3), np.random.rand(3), random.random()
        torch.manual_seed(7)

    return observe


OPTIONS = {
    "siamese": {"epochs": 3, "batch_size": 32},
    "finetune": {"epochs": 2},
    "scrub": {"epochs": 2},
    "siamese-matched": {"steps": 20},
    "ssd": {},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_bytes_are_the_same_with_and_without(name, toy):
    seen, unlearner = [], method(name, **OPTIONS[name])
    plain, observed = run(toy, unlearner), run(toy, unlearner, observe=meddling(seen))
    assert digest_of(observed.state_dict()) == digest_of(plain.state_dict())
    assert seen
    assert [m.training for m in observed.modules()] == [m.training for m in plain.modules()]


def test_random_state_of_the_caller_stays(toy):
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    run(toy, method("finetune", epochs=1), observe=meddling([]))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert random.getstate() == before[2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("siamese", [(1.0, 3), (2.0, 3), (3.0, 3)]),
        ("finetune", [(1.0, 2), (2.0, 2)]),
        ("ssd", [(1.0, 1), (2.0, 2)]),  # two phases of one pass each
    ],
)
def test_told_at_the_end_of_each_epoch(name, expected, toy):
    seen = []
    run(toy, method(name, **OPTIONS[name]), observe=meddling(seen))
    assert seen == expected


def test_without_epochs_told_ten_times_evenly(toy):
    seen = []
    run(toy, method("siamese-matched", steps=20), observe=meddling(seen))
    assert seen == [(pytest.approx(k / 10), 1) for k in range(1, 11)]


def test_the_last_look_sees_the_result(toy):
    looks = []
    erased = run(toy, method("ssd"), observe=lambda network, *_: looks.append(digest_of(network.state_dict())))
    assert looks[-1] == digest_of(erased.state_dict())
    assert looks[0] == digest_of(toy.model.state_dict())  # nothing is dampened before all is gathered


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_continued_run_is_told_of_the_rest(stop, toy, tmp_path):
    unlearner, slot, looks = method("siamese", **OPTIONS["siamese"]), Store(tmp_path).slot("run"), [0]
    whole, first, rest = [], [], []

    def asked():
        looks[0] += 1
        return looks[0] == stop

    plain = run(toy, unlearner, observe=meddling(whole))
    with pytest.raises(Interrupted):
        run(toy, unlearner, observe=meddling(first), saver=slot, interrupted=asked)
    continued = run(toy, unlearner, observe=meddling(rest), saver=slot)
    assert first + rest == whole
    assert digest_of(continued.state_dict()) == digest_of(plain.state_dict())
