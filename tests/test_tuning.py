"""Tuning: the default comes first, only `val` decides, and a killed search goes on as if nothing had happened."""

from __future__ import annotations

import json
import pkgutil
import sys
import tomllib
from dataclasses import fields, replace
from importlib import import_module

import numpy as np
import optuna
import pytest
import torch

import sublimate.unlearn
from sublimate.audits.evaluation import Scores
from sublimate.data.core import Data
from sublimate.errors import InputRefused, Interrupted, UnlearningFailed, UsageError
from sublimate.splits import split
from sublimate.store import Store
from sublimate.trials import Budget, Study, Trial, suggest
from sublimate.tuning import FAILED, Reference, average_gap, on_val, tune
from sublimate.unlearn import METHODS, Siamese, method
from sublimate.unlearn.base import Unlearner
from sublimate.unlearn.judge import Judge
from sublimate.unlearn.presets import configure, read_preset
from sublimate.unlearn.spaces import SPACES, Range, space

FIXED = {"lam": 1.0, "kvc": 1.0, "epochs": 2}  # leaves lr and the permutation
QUICK = {"method": "siamese", "budget": "5", "fixed": FIXED}


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


def tuned(toy, **changes):
    given = QUICK | changes
    return tune(toy.model, toy.split, given.pop("method"), given.pop("budget"), **given)


def tried(result):
    """All of the trials but their seconds."""
    return [(trial.options, trial.value, trial.failed) for trial in result.trials]


def slots_in(folder, key="key"):
    return lambda name: Store(folder).slot(f"{name} of {key}")


@pytest.fixture(scope="module")
def whole(toy):
    return tuned(toy)


# What is tried, and what is chosen


def test_the_first_trial_has_the_default_values_and_the_best_is_no_worse(toy, whole):
    assert whole.trials[0].options == {"lr": Siamese.lr, "permutation": Siamese.permutation}
    erased = method("siamese", **FIXED).unlearn(
        toy.model, toy.split.forget_set, toy.split.few_set, ratios=toy.split.ratios, val=toy.split.val_set
    )
    judge = Judge(toy.model, toy.split.forget_set, toy.split.val_set, toy.split.remaining)
    assert whole.trials[0].value == judge(erased).loss
    assert whole.facts["best"] == whole.ranked[0].value == min(trial.value for trial in whole.trials)
    assert whole.facts["best"] <= whole.facts["default"] == whole.trials[0].value
    assert whole.options == FIXED | whole.ranked[0].options


def test_of_equals_the_default_is_chosen(whole):
    equal = replace(whole, trials=tuple(replace(trial, value=1.0) for trial in whole.trials))
    assert equal.ranked[0] is equal.trials[0]


def test_the_searched_values_differ_and_are_short(whole):
    rates = [trial.options["lr"] for trial in whole.trials]
    assert len(set(rates)) == len(rates)
    assert all(float(f"{rate:.3g}") == rate for rate in rates)


def test_with_a_reference_the_value_is_the_mean_distance(toy):
    retrain = toy.model  # any network will do here
    reference = Reference.of(retrain, toy.split)
    result = tuned(toy, reference=reference, budget="2")
    erased = method("siamese", **FIXED).unlearn(
        toy.model, toy.split.forget_set, toy.split.few_set, ratios=toy.split.ratios, val=toy.split.val_set
    )
    mine, theirs = on_val(erased, toy.split), on_val(retrain, toy.split)
    by_hand = [getattr(mine, name) - getattr(theirs, name) for name in ("acc_dr", "acc_df", "ta", "mia")]
    assert result.trials[0].value == pytest.approx(sum(map(abs, by_hand)) / 4, abs=1e-12)
    assert (result.facts["objective"], result.facts["reference"]) == ("distance to Retrain", reference.digest)


def test_the_mean_distance_by_hand():
    # |97 - 99| = 2, |10 - 0| = 10, |88 - 91| = 3, |30 - 25| = 5: 20 / 4 = 5; the figures by class are not counted.
    mine = Scores(acc_dr=97.0, acc_df=10.0, ta=88.0, mia=30.0, ta_dr=50.0, ta_df=50.0)
    retrain = Scores(acc_dr=99.0, acc_df=0.0, ta=91.0, mia=25.0, ta_dr=90.0, ta_df=0.0)
    assert average_gap(mine, retrain) == 5.0
    assert average_gap(replace(mine, mia=None), retrain) == 5.0  # 15 / 3: what does not apply is left out


@pytest.mark.parametrize("with_reference", [False, True])
def test_only_validation_records_decide(toy, monkeypatch, with_reference):
    read, forbidden = Data.read, toy.split.control

    def watched(self, rows):
        assert not torch.isin(rows, forbidden).any(), "a record of the test set was read"
        return read(self, rows)

    monkeypatch.setattr(Data, "read", watched)
    tuned(toy, budget="2", reference=Reference.of(toy.model, toy.split) if with_reference else None)


def test_the_callers_world_stays(toy):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), [p.clone() for p in toy.model.parameters()]
    tuned(toy, budget="3")
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()
    assert all(torch.equal(a, b) for a, b in zip(before[2], toy.model.parameters(), strict=True))
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR


# What goes wrong


@pytest.fixture
def shaky(monkeypatch):
    """A method that ruins the network above some learning rate."""

    def run(self, *args, **given):
        if self.lr > 1e-4:
            failure = UnlearningFailed("Ruined.", "Be gentle.")
            failure.kept = 1e-5 / self.lr
            raise failure
        return Siamese.run(replace(Siamese(), lr=self.lr, epochs=2), *args, **given)

    monkeypatch.setitem(METHODS, "shaky", type("Shaky", (Siamese,), {"name": "shaky", "run": run}))


def test_a_failed_trial_is_very_bad_and_the_search_goes_on(toy, shaky):
    result = tuned(toy, method="shaky", budget="8", fixed={})
    failed = [trial for trial in result.trials if trial.failed]
    assert failed and len(failed) < 8 and result.facts["failed"] == len(failed)
    assert all(trial.failed == "Ruined." for trial in failed)
    assert [t.value for t in failed] == [FAILED - 1e-5 / t.options["lr"] for t in failed], "the more ruined the worse"
    assert result.ranked[0].value < 300 and result.ranked[0].failed is None


def test_when_every_trial_fails_there_is_no_preset(toy, shaky):
    with pytest.raises(UnlearningFailed, match=r"All 2 trials failed.*Ruined"):
        tuned(toy, method="shaky", budget="2", fixed={"lr": 0.01})


def model_ready(toy, *parts):
    read = [toy.data.read(rows) for rows in parts]
    return Data.from_dataset(*((toy.data.normalise(x), y) for x, y in read), flip=False)


def test_other_errors_are_not_hidden(toy):
    data = model_ready(toy, toy.data.train, toy.data.test)
    with pytest.raises(InputRefused, match="Contrastive views"):
        tune(toy.model, split(data, "class:1"), "siamese", "2", fixed={"views": "contrastive"})


def test_data_without_never_seen_records(toy):
    alone = split(model_ready(toy, toy.data.train), "class:1")
    with pytest.raises(InputRefused, match="Nothing can be chosen"):
        tune(toy.model, alone, "siamese", "2")


def test_nothing_left_to_search(toy):
    with pytest.raises(InputRefused, match="no option of siamese to search"):
        tuned(toy, fixed=FIXED | {"lr": 1e-3, "permutation": "paper"})


def test_without_optuna_the_remedy_is_named(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UsageError, match=r"pip install 'sublimate\[tune\]'"):
        tuned(toy)


@pytest.mark.parametrize(
    "text", ["", "0", "0m", "-3", "2.5", "20 minutes", "m", "1d", "1e3", "9" * 5000, "9" * 5000 + "m"]
)
def test_a_bad_budget(text):
    with pytest.raises(UsageError, match="is no budget"):
        Budget.parse(text)


def test_a_budget():
    found = {text: Budget.parse(text) for text in ("30", "90s", "20m", "1.5h")}
    assert [(b.trials, b.seconds) for b in found.values()] == [(30, None), (None, 90), (None, 1200), (None, 5400)]


# Killed and continued


@pytest.mark.parametrize("moment", [1, 4, 9, 14])
def test_killed_anywhere_it_goes_on_to_the_same_trials(toy, whole, tmp_path, moment):
    slots, seen = slots_in(tmp_path), []

    def kill(progress):
        seen.append(progress)
        if len(seen) == moment:
            raise Killed

    with pytest.raises(Killed):
        tuned(toy, slots=slots, progress=kill)
    again = tuned(toy, slots=slots)
    assert tried(again) == tried(whole)
    assert again.preset() == whole.preset()


def test_what_was_done_is_not_done_again(toy, whole, tmp_path):
    slots, phases = slots_in(tmp_path), []
    tuned(toy, slots=slots, budget="3")
    again = tuned(toy, slots=slots, budget="5", progress=lambda p: phases.append((p.phase, p.done)))
    assert tried(again) == tried(whole)  # a larger budget goes on where the smaller ended
    assert [done for phase, done in phases if phase == "trials"] == [4, 5]
    phases.clear()
    assert tried(tuned(toy, slots=slots, budget="5", progress=phases.append)) == tried(whole) and not phases


def test_interrupted_within_a_trial_it_says_so_and_goes_on(toy, whole, tmp_path):
    slots, seen = slots_in(tmp_path), []
    with pytest.raises(Interrupted, match="the same command continues"):
        tuned(toy, slots=slots, progress=seen.append, interrupted=lambda: len(seen) >= 4)
    kept = json.loads(slots("trials").load())
    assert kept["unfinished"] > 0 and slots(f"trial {len(kept['trials'])}").load()
    assert tried(tuned(toy, slots=slots)) == tried(whole)
    assert not any(slots(f"trial {n}").load() for n in range(5))  # no weights are left behind


def test_interrupted_between_trials(toy, tmp_path):
    with pytest.raises(Interrupted, match="Stopped after 0 trials"):
        tuned(toy, slots=slots_in(tmp_path), interrupted=lambda: True)


def test_damaged_trials_count_as_none(toy, whole, tmp_path):
    slots = slots_in(tmp_path)
    tuned(toy, slots=slots, budget="2")
    path = slots("trials").path
    path.write_bytes(path.read_bytes()[:-5])
    assert tried(tuned(toy, slots=slots)) == tried(whole)


def test_a_smaller_budget_afterwards_counts_only_its_own_trials(toy, whole, tmp_path):
    slots = slots_in(tmp_path)
    assert tried(tuned(toy, slots=slots)) == tried(whole)
    assert tuned(toy, slots=slots, budget="2").preset() == tuned(toy, budget="2").preset()
    assert tried(tuned(toy, slots=slots)) == tried(whole)  # and the others are not lost


# A budget of time, by a clock that goes when we say


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def study_of(clock, seconds, slots=None, interrupted=lambda: False):
    budget = Budget.parse(f"{seconds}s")
    return Study(
        space={"x": Range(0.0, 1.0)}, default={"x": 0.5}, budget=budget, slots=slots, clock=clock,
        interrupted=interrupted,
    )  # fmt: skip


def lasting(clock, seconds, ran=None):
    """An attempt of so many one-second iterations, which looks for a reason to stop after each, as the loop does."""

    def attempt(options, slot, stop):
        for _ in range(seconds):
            clock.now += 1
            if stop():
                raise Interrupted("Stopped.", "Go on.")
        if ran is not None:
            ran.append(options)
        return options["x"], None

    return attempt


def test_the_trial_that_runs_when_the_time_is_over_does_not_count():
    clock = Clock()
    study = study_of(clock, 100)
    study.run(lasting(clock, 30))
    assert [trial.seconds for trial in study.trials] == [30, 30, 30]
    assert (study.unfinished, study.spent, clock.now) == (10, 100, 100)


def test_the_default_values_are_tried_however_long_it_takes():
    clock = Clock()
    study = study_of(clock, 100)
    study.run(lasting(clock, 250))
    assert [(trial.options, trial.seconds) for trial in study.trials] == [({"x": 0.5}, 250)]


def test_the_time_counts_over_restarts(tmp_path):
    clock, ran, slots = Clock(), [], slots_in(tmp_path)
    first = study_of(clock, 100, slots, interrupted=lambda: clock.now >= 45)
    with pytest.raises(Interrupted):
        first.run(lasting(clock, 30, ran))
    assert (len(first.trials), first.unfinished) == (1, 15)
    clock.now = 1e6  # the time between two runs is not counted
    second = study_of(clock, 100, slots)
    second.run(lasting(clock, 30, ran))
    assert [trial.seconds for trial in second.trials] == [30, 45] and second.spent == 100
    assert len(ran) == 2
    third = study_of(clock, 100, slots)
    third.run(lasting(clock, 30, ran))
    assert third.trials == second.trials == third.counted and len(ran) == 2  # nothing left to do
    shorter = study_of(clock, 20, slots)
    shorter.run(lasting(clock, 30, ran))
    assert shorter.counted == second.trials[:1] and len(ran) == 2


def test_progress_of_a_time_budget(toy):
    clock, seen = Clock(), []

    def progress(p):
        seen.append(p)
        clock.now += 1

    tuned(toy, budget="10s", clock=clock, progress=progress)
    told = [p for p in seen if p.phase == "seconds"]
    assert told and all(p.total == 10 and p.done <= 10 and p.losses["best"] >= 0 for p in told)


# Suggestions


def test_what_is_tried_next_is_a_function_of_the_trials_so_far():
    axes = {"x": Range(0.001, 1.0, log=True), "n": Range(1, 6), "word": ("a", "b")}
    start = [Trial(options={"x": 0.1, "n": 3, "word": "a"}, value=1.0, seconds=1.0)]
    trials = list(start)
    for _ in range(14):
        assert suggest(axes, trials) == suggest(axes, trials)
        found = suggest(axes, trials)
        assert 0.001 <= found["x"] <= 1 and found["n"] in range(1, 7) and found["word"] in ("a", "b")
        trials.append(Trial(options=found, value=abs(found["x"] - 0.01), seconds=2.0))
    slower = [replace(trial, seconds=9.0) for trial in trials]
    assert suggest(axes, slower) == suggest(axes, trials)  # not of the time they took
    worse = [replace(trial, value=-trial.value) for trial in trials]
    assert suggest(axes, worse) != suggest(axes, trials)


# The preset


def test_a_preset_is_read_back(toy, whole, tmp_path):
    path = tmp_path / "tuned.toml"
    path.write_text(whole.preset())
    assert read_preset(path, "siamese") == whole.options
    found, choices = configure("siamese", str(path), {"seed": 3}, toy.model, toy.split)
    assert found == Siamese(seed=3, **whole.options) and choices == {"preset": "tuned.toml"}
    facts = tomllib.loads(whole.preset())["tuned"]
    assert facts.pop("versions")["optuna"] == optuna.__version__
    assert facts == whole.facts
    assert facts["few"] == 60 and facts["split"] == toy.split.fingerprint and facts["reference"] == "none"
    assert (facts["budget"], facts["trials"], facts["seed"], facts["objective"]) == ("5", 5, 0, "judgement")


def test_the_seed_is_that_of_the_next_run(toy):
    result = tuned(toy, budget="1", fixed=FIXED | {"seed": 7})
    assert "seed" not in result.options and result.facts["seed"] == 7


def test_awkward_values_survive(whole, tmp_path):
    odd = {"lr": 1e-05, "epochs": 3, "vaporize": True, "permutation": 'quo"te\\ \u03b1'}
    odd_one = replace(whole, method="my.module:Mine", fixed={}, trials=(replace(whole.trials[0], options=odd),))
    (tmp_path / "odd.toml").write_text(odd_one.preset(), encoding="utf-8")
    assert read_preset(tmp_path / "odd.toml", "my.module:Mine") == odd


# What is searched


def all_methods():
    """Every method there is, registered or not."""
    found = {}
    for module in pkgutil.iter_modules(sublimate.unlearn.__path__):
        for one in vars(import_module(f"sublimate.unlearn.{module.name}")).values():
            if isinstance(one, type) and issubclass(one, Unlearner) and "name" in vars(one):
                found[one.name] = one
    return found


OURS = all_methods()


@pytest.mark.parametrize("name", SPACES)
def test_the_table_names_methods_and_options_that_there_are(name):
    assert name in OURS
    assert set(SPACES[name]) <= {f.name for f in fields(OURS[name])}


@pytest.mark.parametrize("name", OURS)
def test_the_default_lies_within_and_the_ends_are_allowed(name):
    cls = OURS[name]
    defaults = {f.name: f.default for f in fields(cls)}
    for option, one in space(cls).items():
        ends = (one.low, one.high) if isinstance(one, Range) else one
        assert (one.low <= defaults[option] <= one.high) if isinstance(one, Range) else defaults[option] in one
        for value in ends:
            assert getattr(cls(**{option: value}), option) == value


def test_an_unknown_method_is_searched_by_well_known_names():
    from dataclasses import dataclass

    @dataclass(frozen=True, kw_only=True)
    class Mine(Unlearner):
        name = "mine"
        lr: float = 0.05
        epochs: int = 4
        alpha: float = 2.0
        gamma: str = "a word"
        lam: float = 0.0
        temperature: float = 3.0

    assert space(Mine) == {
        "lr": Range(0.00167, 1.0, log=True),
        "epochs": Range(1, 8),
        "alpha": Range(0.2, 20.0, log=True),
    }
