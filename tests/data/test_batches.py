"""Batches: a function of seed and number alone; passes that cover everything; against a slow reference."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.data.batches import Batches, Meter
from sublimate.data.core import Data
from sublimate.randomness import stream
from sublimate.splits import Part

SIZES = [(1, 1), (1, 8), (7, 1), (7, 3), (8, 4), (9, 8), (8, 9), (33, 32)]  # rows, batch size


def part(n, name="forget"):
    """Rows n, n-1, …, 1 of a table whose images tell their row and whose labels are row mod 3."""
    images = torch.arange(n + 1, dtype=torch.float32).view(-1, 1, 1, 1)
    data = Data(name="toy", images=images, labels=torch.arange(n + 1) % 3, sizes=(n + 1, 0, 0), classes=("a", "b", "c"))
    return Part(data, torch.arange(n, 0, -1), name)


def batches(n, size, *, name="forget", seed=0, meter=None, **options):
    meter = Meter() if meter is None else meter
    return Batches(part(n, name), size, seed=seed, meter=meter, device=torch.device("cpu"), **options)


def reference(n, size, seed, count, *, cycle=False, fill=0, name="forget"):
    """The places of the first `count` batches, one record after another."""
    found, current, turn = [], [], 0
    while len(found) < count:
        for place in torch.randperm(n, generator=stream(seed, name, turn)).tolist():
            current.append(place)
            if len(current) == min(size, n):
                found.append(current)
                current = []
        if current and not cycle:
            found.append(current)
            current = []
        turn += 1
    for batch in found:
        short = list(batch)
        while len(batch) < fill:
            batch.append(short[len(batch) % len(short)])
    return found[:count]


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 25), st.integers(0, 2**40), st.booleans(), st.sampled_from([0, 1, 2, 5, 32]))
def test_batches_are_those_of_the_slow_reference(n, size, seed, cycle, fill):
    made = batches(n, size, seed=seed, cycle=cycle, fill=fill)
    for t, places in enumerate(reference(n, size, seed, 12, cycle=cycle, fill=fill)):
        assert made.at(t).places.tolist() == places


@pytest.mark.parametrize(("n", "size"), SIZES)
@pytest.mark.parametrize("cycle", [False, True])
def test_a_batch_depends_on_seed_and_number_alone(n, size, cycle):
    in_order = [batches(n, size, cycle=cycle).at(t).places.tolist() for t in range(40)]
    mixed = batches(n, size, cycle=cycle)
    state = torch.get_rng_state()
    for t in random.Random(0).choices(range(40), k=80):
        torch.rand(3)
        assert mixed.at(t).places.tolist() == in_order[t]
    torch.set_rng_state(state)


def test_what_is_drawn_leaves_the_global_state_alone():
    state = torch.get_rng_state()
    batches(9, 4).at(7)
    assert torch.equal(torch.get_rng_state(), state)


def test_seeds_parts_and_passes_have_their_own_orders():
    orders = [batches(50, 50, seed=seed, name=name).at(t) for seed in (0, 1) for name in ("a", "b") for t in (0, 1)]
    assert len({tuple(batch.places.tolist()) for batch in orders}) == 8


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_one_pass_covers_every_row_once(n, size):
    made = batches(n, size)
    assert len(made) == -(-n // min(size, n))
    for turn in range(3):
        passed = [made.at(turn * len(made) + k) for k in range(len(made))]
        assert sorted(p for batch in passed for p in batch.places.tolist()) == list(range(n))
        sizes = [len(batch.places) for batch in passed]
        assert sizes[:-1] == [min(size, n)] * (len(made) - 1)
        assert sizes[-1] == n - sum(sizes[:-1])


@pytest.mark.parametrize(("n", "size"), SIZES)
def test_a_cycle_has_full_batches_and_each_pass_is_a_permutation_across_their_borders(n, size):
    made = batches(n, size, cycle=True)
    drawn = [made.at(t).places.tolist() for t in range(4 * n)]
    assert {len(places) for places in drawn} == {min(size, n)}
    flat = [place for places in drawn for place in places]
    passes = [flat[i * n : (i + 1) * n] for i in range(len(flat) // n)]
    assert len(passes) >= 4
    assert all(sorted(one) == list(range(n)) for one in passes)


def test_a_pass_is_shuffled_anew():
    made = batches(30, 30, cycle=True)
    assert len({tuple(made.at(t).places.tolist()) for t in range(10)}) == 10


@pytest.mark.parametrize(
    ("n", "size", "fill", "lengths"),
    [
        (1, 128, 32, [32]),
        (3, 2, 5, [5, 5]),
        (33, 32, 32, [32, 32]),
        (40, 32, 16, [32, 16]),
        (40, 32, 8, [32, 8]),
        (40, 32, 0, [32, 8]),
        (31, 128, 32, [32]),
        (32, 128, 32, [32]),
    ],
)
def test_small_batches_are_filled_up_with_their_own_records(n, size, fill, lengths):
    made, plain = batches(n, size, fill=fill), batches(n, size)
    assert [len(made.at(t).places) for t in range(len(made))] == lengths
    for t in range(len(made)):
        filled, own = made.at(t).places, plain.at(t).places
        times = torch.bincount(filled, minlength=n)[own]
        assert torch.equal(filled[: len(own)], own) and int(times.sum()) == len(filled)
        assert int(times.max() - times.min()) <= 1  # nobody is favoured


def test_images_and_labels_belong_to_the_places():
    made = batches(9, 4, cycle=True, fill=6)
    for t in range(5):
        batch = made.at(t)
        rows = made.part.rows[batch.places]
        assert batch.t == t
        assert torch.equal(batch.x.flatten(), rows.float()) and torch.equal(batch.y, rows % 3)


def test_the_meter_counts_what_is_read_per_part():
    meter = Meter()
    forget, retain = batches(5, 2, meter=meter, fill=4), batches(9, 4, name="retain", meter=meter, cycle=True)
    assert meter == {}
    for t in range(3):
        forget.at(t)
    assert meter == {"forget": 12}  # 2, 2 and 1 records, each filled up to 4
    retain.at(0), retain.at(2), retain.at(2)
    assert meter == {"forget": 12, "retain": 12}


def test_reading_is_done_batch_by_batch():
    read = []

    def reader(rows):
        read.append(rows.tolist())
        return torch.zeros(len(rows), 1, 1, 1)

    data = Data(
        name="toy", images=reader, labels=torch.zeros(10, dtype=torch.long), sizes=(10, 0, 0), classes=("a", "b")
    )
    streamed = Part(data, torch.arange(10), "forget")
    made = Batches(streamed, 4, seed=0, meter=Meter(), device=torch.device("cpu"))
    assert read == []
    first = made.at(1).places.tolist()
    assert read == [first] and len(first) == 4
