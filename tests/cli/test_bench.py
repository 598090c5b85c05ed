"""`sublimate bench` and `sublimate report` as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from contextvars import ContextVar

import numpy as np
import pytest

from sublimate.bench import packing, running
from sublimate.bench.experiments import find, listed
from sublimate.bench.folders import LOCK
from sublimate.cli.benching import duration
from sublimate.testing.toy import quadrants

OWN = """
id = "own/toy"
title = "A test with [red]markup[/red] in its title"
measures = ["acc_dr", "acc_df", "ta_dr", "ta_df", "mia"]
[[settings]]
scenario = "full-class"
[settings.smoke]
data = "toy.npz"
request = "class:b"
model = "small-cnn"
recipe = "fast"
epochs = 2
views = "simple"
few = 60
[[methods]]
name = "original"
label = "Original"
[[methods]]
name = "retrain"
label = "Retrain"
[[methods]]
name = "siamese"
label = "Siamese"
preset = "paper"
set = { lr = 1e-2, epochs = 2 }
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with data and an experiment of one's own, and a cache that is empty."""
    (x, y), (u, v) = quadrants(240, 0), quadrants(120, 1)
    np.savez(tmp_path / "toy.npz", x_train=x[:, 0], y_train=y, x_test=u[:, 0], y_test=v, classes=np.array(list("abcd")))
    (tmp_path / "own.toml").write_text(OWN)
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list_prints_every_id(call):
    code, out, _ = call("bench", "--list")
    assert code == 0
    for experiment in listed():
        assert f" {experiment.id} " in out
    code, out, _ = call("bench", "--list", "--json")
    assert [one["id"] for one in json.loads(out)["experiments"]] == [e.id for e in listed()]


@pytest.mark.parametrize("words", ["--help", "bench --help", "report --help", "bench --list"])
def test_torch_is_not_imported_to_tell_about_commands(words):
    code = f"""
import sys
from sublimate import cli
sys.argv = ["sublimate", *{words.split()!r}]
try:
    cli.main()
except SystemExit as stop:
    assert not stop.code
assert "torch" not in sys.modules
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "sublimate" in found.stdout or "full-class" in found.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["bench"], 2, "No experiment is named."),
        (["bench", "full-clas/cifar10"], 2, "full-class/cifar10"),
        (["bench", "runtime", "--edition", "gpu"], 2, "Known, nearest first"),
        (["bench", "runtime", "--only", "siamesse"], 2, "siamese"),
        (["bench", "missing.toml"], 3, "missing.toml"),
        (["report", "nowhere"], 3, "rows.jsonl"),
    ],
)
def test_refusals(words, code, says, call, own):
    found, _, err = call(*words)
    assert (found, says in err) == (code, True), err
    assert not (own / "results").exists()


def test_the_price_before_it_starts(call, own):
    code, out, _ = call("bench", "own.toml", "--seeds", "2", "--dry-run", "--json")
    assert code == 0
    told = json.loads(out)
    # For each seed two trainings, one run, three looks, three audits, and two networks beside Retrain.
    assert (told["rows"], told["done"], told["todo"]) == (6, 0, 22)
    assert told["images"] > 0 and told["minutes"] >= 0
    assert not (own / "results").exists()
    code, out, _ = call("bench", "own.toml", "--seeds", "2", "--dry-run")
    assert "22 steps to do, 0 done" in out
    code, out, _ = call("bench", "own.toml", "--seeds", "1", "--only", "original", "--dry-run")
    assert "1 row to make" in out
    assert "on one core here" in " ".join(out.split())


@pytest.mark.parametrize(
    ("only", "rows"),
    [("Finetune, 100", 1), ("original,Finetune, 100,SCRUB, all", 3), ("finetune", 3), (" , Retrain,", 1), ("", 17)],
)
def test_labels_with_commas_can_be_named(only, rows, call, tmp_path, monkeypatch):
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path))
    code, out, _ = call("bench", "budget/cifar10", "--only", only, "--seeds", "1", "--dry-run", "--json")
    assert (code, json.loads(out)["rows"]) == (0, rows)


def test_of_labels_with_commas_the_wrong_part_is_told(call):
    code, _, err = call("bench", "budget/cifar10", "--only", "Finetune, 100,Finetune, 7", "--dry-run")
    assert code == 2 and "method of these experiments 'Finetune'" in " ".join(err.split())


def test_an_experiment_of_ones_own_from_run_to_page(call, own):
    code, out, err = call("bench", "own.toml", "--seeds", "1")
    assert code == 0, err
    assert "Siamese" in out and "[red]markup[/red]" in out
    assert "results/smoke" in out
    assert "11/11 steps" in err
    folder = own / "results" / "smoke"
    assert len((folder / "rows.jsonl").read_text().splitlines()) == 3
    assert {path.suffix for path in (folder / "tables").iterdir()} == {".md", ".tex", ".csv"}
    assert any((folder / "figures").iterdir())
    rows = (folder / "rows.jsonl").read_bytes()
    code, out, err = call("bench", "own.toml", "--seeds", "1", "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["rows"], told["failed"]) == (3, {})
    assert (folder / "rows.jsonl").read_bytes() == rows
    code, out, err = call("bench", "own.toml", "--seeds", "1", "--dry-run", "--json")
    assert json.loads(out)["todo"] == 0
    code, out, err = call("report", folder, "--out", own / "page.html", "--json")
    assert code == 0, err
    assert (own / "page.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_tables_are_of_all_that_the_folder_holds_by_then(call, own, monkeypatch):
    (own / "other.toml").write_text(OWN.replace("own/toy", "own/other"))
    real = running.bench

    def overtaken(experiments, **more):
        finished = real(experiments, **more)
        real(find("other.toml"), **more | {"progress": None})  # another command ends before ours renders
        return finished

    monkeypatch.setattr(running, "bench", overtaken)
    code, out, err = call("bench", "own.toml", "--seeds", "1", "--only", "original", "--json")
    assert code == 0, err
    assert json.loads(out)["rows"] == 2
    tables = own / "results" / "smoke" / "tables"
    assert {path.name for path in tables.glob("*.md")} == {"own-toy.md", "own-other.md"}
    assert not (own / "results" / "smoke" / LOCK).exists()


def test_the_device_and_the_first_seed(call, own, monkeypatch):
    monkeypatch.setattr("sublimate.bench.packing.DEVICE", ContextVar("mine", default=None))
    code, _, err = call("bench", "own.toml", "--seeds", "1", "--seed", "4", "--device", "cpu", "--only", "original")
    assert code == 0, err
    assert json.loads((own / "results" / "smoke" / "rows.jsonl").read_text())["seed"] == 4
    assert packing.device() == packing.DEVICE.get() == "cpu"
    assert call("bench", "own.toml", "--device", "gpu", "--dry-run")[0] == 2


def test_quiet_says_nothing(call, own):
    code, out, err = call("bench", "own.toml", "--seeds", "1", "--only", "original", "--quiet", "--out", "there")
    assert (code, out, err) == (0, "", "")
    assert (own / "there" / "rows.jsonl").exists()


def test_a_failed_step_is_told_and_ends_the_command_with_its_code(call, own, monkeypatch):
    monkeypatch.setattr("sublimate.bench.checks.check", lambda *given, **more: None)  # it would be refused before
    (own / "own.toml").write_text(
        OWN.replace('name = "siamese"', 'name = "sisa"').replace("set = { lr = 1e-2, epochs = 2 }", "")
    )
    code, out, err = call("bench", "own.toml", "--seeds", "1", "--json")
    assert code == 3
    assert len(json.loads(out)["failed"]) == 1
    assert "sisa" in err
    assert len((own / "results" / "smoke" / "rows.jsonl").read_text().splitlines()) == 2


def test_durations():
    assert [duration(s) for s in (89.4, 90, 5399, 5400)] == ["89 s", "2 min", "90 min", "1.5 h"]


def test_a_cache_that_cannot_be_written_is_named_at_the_start(tmp_path, call, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "taken"))
    code, _, err = call("bench", "full-class/cifar10", "--only", "original", "--seeds", "1", "--out", tmp_path / "out")
    assert code == 5 and "SUBLIMATE_CACHE" in err, err


def test_more_threads_than_a_machine_starts_are_refused(call):
    code, _, err = call("bench", "all", "--threads", "99999999")
    assert code == 2 and "threads" in err
