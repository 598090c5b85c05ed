"""Streams depend on their place alone; the caller's random state comes back."""

import random

import numpy as np
import pytest
import torch

from sublimate.randomness import derive, guarded, stream


def states():
    name, keys, *rest = np.random.get_state()
    return torch.get_rng_state().tolist(), (name, keys.tolist(), *rest), random.getstate()


def draw_from_all():
    torch.rand(3), np.random.rand(3), np.random.randn(), random.random(), random.gauss(0, 1)


def seed_all():
    torch.manual_seed(1), np.random.seed(1), random.seed(1)


@pytest.mark.parametrize("disturb", [draw_from_all, seed_all])
def test_guarded_gives_back_all_three_states(disturb):
    before = states()
    with guarded():
        disturb()
        assert all(now != then for now, then in zip(states(), before, strict=True))
    assert states() == before


@pytest.mark.parametrize("disturb", [draw_from_all, seed_all])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_guarded_gives_them_back_after_an_exception_too(disturb, error):
    before = states()

    def fail():
        disturb()
        raise error

    with pytest.raises(error), guarded():
        fail()
    assert states() == before


def test_guards_nest():
    before = states()
    with guarded():
        draw_from_all()
        between = states()
        with guarded():
            seed_all()
        assert states() == between
    assert states() == before


def test_inside_the_guard_draws_go_on_from_the_callers_state():
    with guarded():
        torch.manual_seed(5)
        with guarded():
            inside = torch.rand(4)
        assert torch.equal(torch.rand(4), inside)


def test_every_place_has_its_own_seed():
    places = [
        (),
        ("views",),
        ("views", 0),
        ("views", "0"),
        ("views", 1),
        ("labels", 0),
        ("views", 0, 0),
        ("view", "s0"),
    ]
    seeds = [derive(seed, *place) for seed in (0, 1, -1, 2**70) for place in places]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_seed_never_changes_between_versions():
    # Recorded once: another number would silently change every split and every run ever recorded.
    assert derive(0, "forget") == 5836187261134310908


def test_a_stream_depends_on_its_place_and_not_on_what_was_drawn_before():
    first = torch.rand(5, generator=stream(3, "few"))
    before = states()
    torch.rand(100, generator=stream(3, "other"))
    assert torch.equal(torch.rand(5, generator=stream(3, "few")), first)
    assert not torch.equal(torch.rand(5, generator=stream(4, "few")), first)
    assert states() == before
