"""Experiments become rows and steps: identical work is one step, and a row's command makes its network."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pytest

from sublimate import cli
from sublimate.bench import analysis, curves, dispersion, packing, steps
from sublimate.bench.experiments import find, listed
from sublimate.bench.making import Bed
from sublimate.bench.planning import plan
from sublimate.bench.pricing import Left, costs, priced
from sublimate.bench.running import steps_of
from sublimate.bench.versions import REVISIONS
from sublimate.checkpoint import load_checkpoint
from sublimate.checkpoint.core import digest_of
from sublimate.data.sources import load
from sublimate.errors import InputRefused, UsageError
from sublimate.files import sha256
from sublimate.plan import Advance, result, run
from sublimate.plan.steps import order
from sublimate.training import RECIPES
from sublimate.unlearn.finetune import Finetune


def named(planned):
    return {step.name: step.key for step in order(steps_of(planned))}


def functions(planned):
    return [str(step.function).partition(":")[2] for step in order(steps_of(planned))]


def test_rows_are_in_the_order_of_the_file_seed_by_seed(declared):
    rows = plan([declared()], "smoke", seeds=2)
    assert [(p.row["label"], p.row["seed"]) for p in rows] == [
        (label, seed) for seed in (0, 1) for label in ("Original", "Retrain", "Siamese", "Finetune")
    ]


def test_seeds_from_a_first_one_on_are_those_of_a_longer_plan(declared):
    whole, rest = plan([declared()], "smoke", seeds=3), plan([declared()], "smoke", seeds=2, first=1)
    assert [p.row for p in rest] == [p.row for p in whole if p.row["seed"] >= 1]
    few = plan([declared(more="seeds = 1")], "smoke", seeds=3, first=2)
    assert {p.row["seed"] for p in few} == {2}


def test_each_network_is_made_once(declared):
    rows = plan([declared()], "smoke", seeds=1)
    # Original, Retrain, two runs; four looks and audits; three of the four stand beside Retrain.
    assert sorted(functions(rows)) == sorted(
        ["train"] * 2 + ["unlearn"] * 2 + ["look"] * 4 + ["audited"] * 4 + ["beside"] * 3
    )


def test_the_same_work_in_two_experiments_is_the_same_step():
    tables, runtime = (plan(find(name), "smoke", seeds=1) for name in ("full-class/cifar10", "runtime"))
    shared = named(tables).keys() & named(runtime).keys()
    assert shared == named(runtime).keys()  # it looks at the same networks, and audits none
    together = plan([*find("full-class/cifar10"), *find("runtime")], "smoke", seeds=1)
    assert named(together) == named(tables)


def test_an_original_serves_every_request(declared):
    one, other = declared(name="one"), declared(name="two", request="class:c")
    assert functions(plan([one, other], "smoke", seeds=1)).count("train") == 3  # one original, two Retrains


def test_names_do_not_depend_on_what_else_is_asked_for(declared):
    everything, one = (named(plan([declared()], "smoke", 2, only)) for only in ((), ("siamese",)))
    assert one.items() <= everything.items()
    assert len(one) < len(everything)


def test_only_takes_methods_and_labels(declared):
    rows = plan([declared()], "smoke", 1, ("siamese", "Finetune"))
    assert [p.row["label"] for p in rows] == ["Siamese", "Finetune"]
    assert all(p.reference for p in rows)  # gaps need Retrain all the same
    with pytest.raises(UsageError, match="siamese"):
        plan([declared()], "smoke", 1, ("siamesse",))


def test_a_case_may_bound_the_seeds(declared):
    assert {p.row["seed"] for p in plan([declared(more="seeds = 1")], "smoke", 3)} == {0}


def test_seeds_of_training_unlearning_and_evaluation_are_separate(declared):
    rows = plan([declared()], "smoke", 2)
    assert rows[-1].row["seeds"] == {"train": 1, "unlearn": 1001, "evaluate": 2001}
    (siamese,) = [p for p in rows if p.row["label"] == "Siamese" and p.row["seed"] == 1]
    (unlearn,) = siamese.steps["look"].needs
    assert unlearn.parameters["options"]["seed"] == 1001
    assert unlearn.parameters["on"]["seed"] == unlearn.needs[0].parameters["seed"] == 1
    assert siamese.steps["audit"].parameters["seed"] == 2001


def test_views_and_batch_size_are_the_cases_unless_set(declared):
    methods = (
        ("siamese", "plain", "{}"),
        ("siamese", "own", '{ views = "cutout", batch_size = 7 }'),
        ("ssd", "ssd", "{}"),
    )
    found = {p.row["label"]: p.row["options"] for p in plan([declared(*methods, more="batch_size = 16")], "smoke", 1)}
    assert found == {
        "plain": {"views": "simple", "batch_size": 16},
        "own": {"views": "cutout", "batch_size": 7},
        "ssd": {"batch_size": 16},  # it sees no views
    }


def test_budgets(declared):
    found = {p.row["label"]: p.row["few"] for p in plan([declared()], "smoke", 1)}
    assert found == {"Original": None, "Retrain": "all", "Siamese": 60, "Finetune": Finetune.few}


def test_a_budget_of_nought_is_for_methods_that_read_nothing(declared, tmp_path):
    def none(name):
        text = declared((name, "None", "{}")).text.replace("preset =", "few = 0\npreset =")
        (tmp_path / "none.toml").write_text(text)
        return find(str(tmp_path / "none.toml"))

    (planned,) = plan(none("neggrad"), "smoke", 1)
    (network,) = planned.steps["look"].needs
    assert (planned.row["few"], network.parameters["few"]) == (0, 1)  # a split has one at least
    assert "--few 1 " in planned.row["command"]
    with pytest.raises(InputRefused, match=r"methods\[1\]: finetune reads retained records"):
        none("finetune")


def test_somebody_elses_network_has_no_retrain(declared, tmp_path):
    (tmp_path / "public.safetensors").write_bytes(b"weights")
    rows = plan([declared(more='original = "public.safetensors"')], "smoke", 1)
    assert [p.row["label"] for p in rows] == ["Original", "Siamese", "Finetune"]
    assert not any(p.reference or "beside" in p.steps for p in rows)
    (network,) = rows[0].steps["look"].needs
    assert network.parameters == {"digest": sha256(b"weights")}  # wherever the file lies
    assert network.hints == {"path": str(tmp_path / "public.safetensors")}


def test_a_second_retrain_differs_in_its_seed_alone(declared, tmp_path):
    bed = Bed(case=declared().settings[0].smoke, seed=1, folder=tmp_path)
    first, second = bed.retrain.parameters, bed.second.parameters
    assert (first.pop("seed"), second.pop("seed")) == (1, 101)
    assert first == second


def test_values_of_a_preset_file_count_not_its_place(declared, tmp_path):
    def made(folder):
        folder.mkdir()
        (folder / "mine.toml").write_text('method = "siamese"\n[options]\nlr = 0.5\n')
        text = declared(("siamese", "Siamese", "{ epochs = 1 }"), folder=folder).text
        (folder / "own.toml").write_text(text.replace('preset = "paper"', 'preset = "mine.toml"'))
        return plan(find(str(folder / "own.toml")), "smoke", 1)

    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    assert named(one) == named(two)
    assert one[0].row["options"] == {"lr": 0.5, "epochs": 1, "views": "simple"}
    assert one[0].row["preset"] == "mine.toml"


def test_other_records_under_the_same_name_are_other_steps(tmp_path, declared, monkeypatch):
    before = named(plan([declared()], "smoke", 1))
    whole = load(declared().settings[0].smoke.data)
    x, y = whole.read(whole.train)
    np.savez(
        tmp_path / "other.npz", x_train=255 - x[:, 0], y_train=y, x_test=x[:9, 0], y_test=y[:9], classes=list("abcd")
    )
    monkeypatch.setattr(packing, "load", lambda name: load(tmp_path / "other.npz"))
    packing.loaded.cache_clear()
    after = named(plan([declared()], "smoke", 1))
    packing.loaded.cache_clear()
    assert not before.keys() & after.keys()


def changed(before, after):
    """Functions of the steps that are others now."""
    one, two = ({step.key: step for step in order(steps_of(planned))} for planned in (before, after))
    assert len(one) == len(two)
    return {str(step.function).partition(":")[2] for key, step in two.items() if key not in one}


def everything(declared):
    return plan([declared(name=kind, kind=kind) for kind in ("scores", "curve", "kl", "tsne")], "smoke", 1)


def test_other_values_of_a_recipe_are_another_training(declared, monkeypatch):
    before = everything(declared)
    monkeypatch.setitem(RECIPES, "paper", replace(RECIPES["paper"], lr=0.5))
    assert not changed(before, everything(declared))
    monkeypatch.setitem(RECIPES, "fast", replace(RECIPES["fast"], lr=0.5))
    assert "train" in changed(before, everything(declared))


@pytest.mark.parametrize(
    ("function", "rests_on_it"),
    [
        (analysis.look, {"look"}),
        (analysis.audited, {"audited"}),
        (analysis.beside, {"beside"}),
        (dispersion.divergence, {"divergence"}),
        (dispersion.embedded, {"embedded"}),
        (curves.curve, {"curve"}),
        (curves.sampled, {"sampled"}),
    ],
)
def test_other_code_is_another_step_and_nothing_else_is(function, rests_on_it, declared, monkeypatch):
    before = everything(declared)
    monkeypatch.setitem(REVISIONS, function, "next")
    assert changed(before, everything(declared)) == rests_on_it


def test_other_training_code_trains_all_again(declared, monkeypatch):
    before = everything(declared)
    monkeypatch.setitem(REVISIONS, steps.train, "next")
    assert not named(before).items() & named(everything(declared)).items()


@pytest.mark.parametrize("edition", ["smoke", "cpu", "paper"])
def test_every_experiment_can_be_planned(edition):
    rows = plan(listed(), edition, 1)
    assert {p.row["experiment"] for p in rows} == {e.id for e in listed()}
    assert len(named(rows)) == len(order(steps_of(rows)))
    assert {p.row["kind"] for p in rows} == {"scores", "curve", "kl", "tsne"}


def test_the_command_of_a_row_makes_its_network(declared, store, tmp_path, monkeypatch):
    rows = plan([declared()], "smoke", 1, ("siamese", "retrain"))
    run(steps_of(rows), store)
    monkeypatch.chdir(tmp_path)
    for planned, out in zip(rows, ("retrain", "erased"), strict=True):
        for command in planned.row["command"].split(" && "):
            monkeypatch.setattr("sys.argv", [*shlex.split(command), "--quiet"])
            with pytest.raises(SystemExit) as stop:
                cli.main()
            assert not stop.value.code
        (step,) = planned.steps["look"].needs
        (tmp_path / "step.safetensors").write_bytes(result(step, store))
        made, typed = (load_checkpoint(tmp_path / f"{name}.safetensors").state for name in ("step", out))
        assert digest_of(made) == digest_of(typed)


# --- price -----------------------------------------------------------------------------------------------------------


def test_the_price_counts_what_is_left(declared, store):
    rows = plan([declared()], "smoke", 1, ("original", "retrain"))
    known = costs(rows)
    first = priced(steps_of(rows), store, known)
    # Two trainings of two epochs on 240 and 180 records; both networks look at all 360 records; two audits of two
    # networks, three passes over 60 forgotten, 96 never-seen and 180 retained records; and the original stands beside
    # Retrain on the 60 forgotten ones.
    images = 2 * 240 + 2 * 180 + 2 * 360 + 2 * 2 * 3 * (60 + 96 + 180) + 2 * 60
    assert (first.done, first.todo, first.images) == (0, 7, images)
    run(steps_of(rows[:1]), store)
    then = priced(steps_of(rows), store, known)
    assert (then.done, then.todo) == (6, 1)
    assert then.images == 2 * 3 * (60 + 96 + 180)
    assert 0 < then.seconds < first.seconds


def test_time_left_follows_the_clock():
    now = [0.0]
    left = Left({"a": 30.0, "b": 90.0}, now=lambda: now[0])
    assert left.after(Advance(done=0, total=2, name="a")) == 120.0
    now[0] = 70.0  # a took 70 s where 30 s were thought: with ten seconds of trust in the estimate, twice as long
    assert left.after(Advance(done=1, total=2, name="a")) == 90.0 * (70 + 10) / (30 + 10)
    assert left.after(Advance(done=2, total=2, name="b")) == 0.0
