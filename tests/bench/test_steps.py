"""Steps give the same network wherever and however often they were stopped, and say how long they took."""

from __future__ import annotations

import inspect
import struct

import pytest

from sublimate.bench import steps
from sublimate.bench.clock import Clock
from sublimate.bench.packing import opened, table
from sublimate.checkpoint.core import digest_of
from sublimate.errors import IntegrityError, Interrupted
from sublimate.plan import Step, result, run

TRAIN = {"model": "small-cnn", "recipe": "fast", "epochs": 2, "views": "simple", "seed": 0}


class Memory:
    """A place to save in."""

    data = None

    def load(self):
        return self.data

    def save(self, data):
        self.data = data


@pytest.fixture
def on(toy_file):
    return {"data": str(toy_file), "request": "class:b", "seed": 0}


def original(on, **changes):
    return Step(name="original", function=steps.train, parameters=TRAIN | {"on": on, "without": False} | changes)


def unlearned(on, method, **options):
    parameters = {"on": on, "method": method, "preset": "paper", "options": options, "few": 60}
    return Step(name=method, function=steps.unlearn, parameters=parameters, needs=(original(on),))


def network(step, store):
    return opened(result(step, store), table(step.parameters["on"]["data"]))


def test_names_and_parameters_are_those_of_results_that_exist():
    assert {
        name: tuple(inspect.signature(getattr(steps, name)).parameters)
        for name in ("given", "train", "unlearn", "unlearn_recorded")
    } == {
        "given": ("context", "path", "digest"),
        "train": ("context", "on", "model", "recipe", "epochs", "views", "seed", "without"),
        "unlearn": ("context", "on", "method", "preset", "options", "few"),
        "unlearn_recorded": ("context", "on", "method", "model", "recipe", "epochs", "seed", "options"),
    }
    on = {"data": "digits", "request": "", "seed": 0}
    assert original(on).function == "sublimate.bench.steps:train"
    assert original(on).key == "d3ec802af88907a46341e355782b9acbfa6ff09b27562cc49805514b3fafdfb2"


def test_retrain_is_told_apart_from_the_original(on, store):
    whole, without = original(on), original(on, without=True)
    run([whole], store)
    run([without], store)
    assert network(whole, store).split is None
    assert network(without, store).split is not None


def test_a_training_says_its_recipe_and_its_seconds(on, store):
    run([original(on)], store)
    recipe = network(original(on), store).checkpoint.meta.recipe
    assert (recipe["epochs"], recipe["seed"]) == (2, 0)
    assert set(recipe["timing"]) == {"seconds", "threads", "device", "host", "at"}
    assert (recipe["timing"]["threads"], recipe["timing"]["device"]) == (1, "cpu")


def test_an_unlearning_says_what_it_read(on, store):
    step = unlearned(on, "siamese", epochs=2, batch_size=30, lr=1e-2)
    run([step], store)
    told = steps.run_of(network(step, store))
    # 60 forgotten records twice, filled up to 32 a batch; and 30 retained ones beside each of the 2 · 2 batches.
    assert told["read"] == {"forget": 2 * 2 * 32, "retain": 2 * 2 * 30}
    assert told["samples"] == 128 + 120
    assert (told["options"]["lr"], told["options"]["batch_size"]) == (1e-2, 30)


@pytest.mark.parametrize(("options", "epochs"), [({}, 3), ({"options": {"epochs": 1}}, 1)])
def test_a_method_of_records_takes_values_too(options, epochs, on, store):
    parameters = {"on": on, "method": "amnesiac-true", "model": "small-cnn", "recipe": "fast", "epochs": 1, "seed": 5}
    step = Step(name="recorded", function=steps.unlearn_recorded, parameters=parameters | options)
    run([step], store)
    told = steps.run_of(network(step, store))["options"]
    assert (told["epochs"], told["seed"]) == (epochs, 5)


def test_a_failed_run_leaves_the_last_good_network_and_the_cause(on, store):
    step = unlearned(on, "neggrad", lr=1e30, epochs=2)
    assert not run([step], store).failed
    told = steps.run_of(network(step, store))
    assert "non-finite" in told["failed"]
    assert told["options"]["momentum"] == 0.9
    before, after = (digest_of(network(s, store).model.state_dict()) for s in (original(on), step))
    assert after == before


def test_a_network_of_infinite_answers_is_a_result_too(on, store):
    step = unlearned(on, "neggrad", lr=1e4, epochs=2)
    assert not run([step], store).failed
    assert steps.run_of(network(step, store))["failed"] == "The network gives answers that are no numbers."


@pytest.mark.parametrize("stop", [2, 7])
def test_stopped_and_continued_it_is_the_same_network(stop, on, store, tmp_path):
    step, asked = unlearned(on, "siamese", epochs=4, batch_size=30, lr=1e-2), [0]
    run([original(on)], store)

    def interrupted():
        asked[0] += 1
        return asked[0] == stop

    with pytest.raises(Interrupted):
        run([step], store, interrupted=interrupted)
    run([step], store)
    stopped = digest_of(network(step, store).model.state_dict())
    other = type(store)(tmp_path / "other")
    run([step], other)
    assert digest_of(network(step, other).model.state_dict()) == stopped


def test_a_given_network_must_be_the_one_that_was_meant(tmp_path, store):
    path = tmp_path / "network.bin"
    path.write_bytes(b"weights")
    step = Step(name="given", function=steps.given, parameters={"digest": "0" * 64}, hints={"path": str(path)})
    assert isinstance(run([step], store).failed["given"], IntegrityError)


def test_a_clock_counts_the_pieces_before_a_kill_once():
    now, memory = [100.0], Memory()
    first = Clock(lambda: now[0])
    now[0] = 104.0
    first.over(memory).save(b"state")  # after 4 s
    now[0] = 109.0  # 5 more, which are lost in the kill
    second = Clock(lambda: now[0])
    now[0] = 110.0
    assert second.over(memory).load() == b"state"
    now[0] = 113.0
    assert second.seconds == 4.0 + 3.0
    assert memory.data == struct.pack(">d", 4.0) + b"state"


def test_a_clock_without_a_saved_state_runs_on():
    now = [0.0]
    clock = Clock(lambda: now[0])
    now[0] = 2.0
    assert clock.over(Memory()).load() is None
    assert clock.seconds == 2.0
