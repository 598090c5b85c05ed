"""What stays of earlier rows in a folder when an experiment's file has changed."""

from __future__ import annotations

from typing import Any

import pytest

from sublimate.bench.experiments import Experiment, load
from sublimate.bench.merging import merged
from sublimate.bench.planning import plan
from sublimate.bench.results import Points, Results, Row, Timing

WHERE = ("experiment", "edition", "scenario", "data", "model", "views", "label", "seed")
METHODS = (("original", "Original", "{}"), ("siamese", "Siamese", "{ lr = 1e-2 }"), ("finetune", "Finetune", "{}"))
CLOCK: dict[str, Any] = {"seconds": 1.0, "threads": 1, "host": "here", "at": "2026-01-01"}


def ran(experiment: Experiment, seeds: int = 2, threads: int = 1) -> Results:
    """What a run of the experiment leaves, with nothing measured."""
    facts: dict[str, Any] = {"split": "9f", "versions": {}, "n": {}, "figures": {}}
    planned = [one.row for one in plan([experiment], "smoke", seeds, threads=threads)]
    places = [{name: row[name] for name in WHERE} for row in planned]
    return Results(
        rows=tuple(Row.model_validate({**row, **facts}) for row in planned),
        timings=tuple(Timing(**at, **CLOCK) for at in places),
        points=tuple(Points(**at, points=()) for at in places),
        experiments={experiment.id: experiment},
    )


def left_of(before: Experiment, now: Experiment) -> list[tuple[str, int]]:
    """Of a run with two seeds, after a run of the changed file with none of them."""
    whole = merged(ran(before), Results(()), {now.id: now})
    kept = [(row.label, row.seed) for row in whole.rows]
    assert kept == [(one.label, one.seed) for one in whole.timings] == [(one.label, one.seed) for one in whole.points]
    return kept


def test_rows_of_the_same_file_stay_whatever_the_threads(declared) -> None:
    experiment = declared(*METHODS)
    labels = ["Original", "Siamese", "Finetune"]
    assert left_of(experiment, declared(*METHODS)) == [(label, seed) for seed in (0, 1) for label in labels]
    whole = merged(ran(experiment), ran(experiment, seeds=1, threads=2), {experiment.id: experiment})
    assert [(row.seed, "--threads 2" in row.command) for row in whole.rows] == [(0, True)] * 3 + [(1, False)] * 3


def test_rows_of_another_request_are_no_part_of_the_mean(declared) -> None:
    before, now = declared(*METHODS, request="class:b"), declared(*METHODS, request="class:c")
    whole = merged(ran(before), ran(now, seeds=1), {now.id: now})
    assert [(row.label, row.seed, row.request) for row in whole.rows] == [
        (label, 0, "class:c") for label in ("Original", "Siamese", "Finetune")
    ]


CHANGES = {
    "another value": ({"lr = 1e-2": "lr = 1e-3"}, {"Original", "Finetune"}),
    "an option more": ({"lr = 1e-2": "lr = 1e-2, epochs = 2"}, {"Original", "Finetune"}),
    "an option less": ({"lr = 1e-2": ""}, {"Original", "Finetune"}),
    "another budget": ({"few = 60": "few = 50"}, {"Original", "Finetune"}),
    "another method": ({'"finetune"': '"scrub"'}, {"Original", "Siamese"}),
    "another preset": ({'"paper"': '"auto"'}, set()),
    "other epochs of training": ({"epochs = 2\nviews": "epochs = 3\nviews"}, set()),
    "another recipe": ({'"fast"': '"paper"'}, set()),
    "another kind": ({'"scores"': '"kl"'}, set()),
    "another title": ({"A test": "A better title"}, {"Original", "Siamese", "Finetune"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_rows_stay_that_are_made_as_the_file_says_now(what: str, declared, tmp_path) -> None:
    changes, stay = CHANGES[what]
    before = declared(*METHODS)
    text = before.text
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "changed.toml").write_text(text)
    assert {label for label, _ in left_of(before, load(tmp_path / "changed.toml"))} == stay


def test_values_of_a_preset_file_count_not_its_name_alone(declared, tmp_path) -> None:
    (tmp_path / "mine.toml").write_text('method = "finetune"\n[options]\nlr = 0.5\n')
    text = declared(("finetune", "Finetune", "{}")).text.replace('"paper"', '"mine.toml"')
    (tmp_path / "toy.toml").write_text(text)
    experiment = load(tmp_path / "toy.toml")
    made = ran(experiment)
    assert len(merged(made, Results(()), {experiment.id: experiment}).rows) == 2
    (tmp_path / "mine.toml").write_text('method = "finetune"\n[options]\nlr = 0.25\n')
    assert merged(made, Results(()), {experiment.id: experiment}).rows == ()


def test_experiments_that_are_not_run_now_keep_their_rows(declared) -> None:
    one, two = declared(*METHODS, name="one"), declared(*METHODS, name="two")
    whole = merged(ran(one), ran(two), {two.id: two})
    assert [row.experiment for row in whole.rows] == ["own/one"] * 6 + ["own/two"] * 6
