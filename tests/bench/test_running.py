"""Rows come out the same, byte for byte: run again, stopped, killed, in pieces, two at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from sublimate.bench import planning
from sublimate.bench.experiments import find, listed, load
from sublimate.bench.packing import DEVICE, loaded
from sublimate.bench.results import read
from sublimate.bench.running import bench, steps_of
from sublimate.bench.schema import Experiment
from sublimate.errors import InputRefused, Interrupted
from sublimate.plan import run
from sublimate.store import Store
from sublimate.training import RECIPES
from sublimate.unlearn import METHODS

FILES = ("rows.jsonl", "points.jsonl")


def go(experiments, folder, store, **more):
    return bench(experiments, edition="smoke", seeds=1, folder=folder, store=store, **more)


def determined(folder):
    return b"".join((folder / name).read_bytes() for name in FILES)


def test_rows_hold_what_was_found(declared, store, tmp_path):
    finished = go([declared()], tmp_path / "out", store)
    assert not finished.failed
    original, retrain, siamese, _ = finished.results.rows
    assert [row.label for row in finished.results.rows] == ["Original", "Retrain", "Siamese", "Finetune"]
    assert (retrain.average_gap, retrain.tow, retrain.figures["js"]) == (0.0, 1.0, 0.0)
    assert original.gap["acc_df"] == original.figures["acc_df"] - retrain.figures["acc_df"]
    assert retrain.figures["samples"] == retrain.figures["read_retain"] == 2 * 180
    assert (siamese.options["lr"], siamese.options["epochs"]) == (1e-2, 2)
    assert siamese.stopped == "all epochs done"
    assert siamese.audit.verdict in ("PASS", "FAIL", "INCONCLUSIVE")
    assert len({row.split for row in finished.results.rows}) == 1
    assert read(tmp_path / "out").rows == finished.results.rows
    assert [t.label for t in finished.results.timings] == ["Retrain", "Siamese", "Finetune"]
    assert b"seconds" not in determined(tmp_path / "out")
    assert {one.device for one in (*finished.results.rows, *finished.results.timings)} == {"cpu"}


def test_from_another_folder_the_users_data_are_found(declared, store, tmp_path, toy_file, monkeypatch):
    text = declared(("original", "Original", "{}")).text.replace(str(toy_file), "toy.npz")
    (tmp_path / "toy.toml").write_text(text)
    monkeypatch.chdir(toy_file.parent)
    planned = planning.plan([load(tmp_path / "toy.toml")], "smoke", 1)
    monkeypatch.chdir(tmp_path)  # as a worker may
    loaded.cache_clear()
    assert not run(steps_of(planned), store).failed
    elsewhere = [replace(step, hints={"data_at": "/else"}) for step in steps_of(planned)]
    assert [step.key for step in elsewhere] == [step.key for step in steps_of(planned)]


def test_the_device_goes_with_the_step(declared, store, monkeypatch):
    chosen = DEVICE.set("meta")
    steps = steps_of(planning.plan([declared(("original", "Original", "{}"))], "smoke", 1))
    DEVICE.reset(chosen)
    plain = steps_of(planning.plan([declared(("original", "Original", "{}"))], "smoke", 1))
    assert {step.device for step in steps} == {"meta"} and {step.device for step in plain} == {None}
    assert [step.key for step in steps] == [step.key for step in plain]
    seen = []
    monkeypatch.setattr("sublimate.bench.steps.fit", lambda *given, device, **more: seen.append(device) or 1 // 0)
    run(steps[:1], store)
    assert seen == ["meta"] and DEVICE.get() is None


def test_run_again_it_is_free_and_the_same(declared, store, tmp_path):
    told = []
    first = go([declared()], tmp_path / "out", store)
    before = determined(tmp_path / "out"), (tmp_path / "out" / "timings.jsonl").read_bytes()
    go([declared()], tmp_path / "out", store, progress=told.append)
    assert (determined(tmp_path / "out"), (tmp_path / "out" / "timings.jsonl").read_bytes()) == before
    assert told == []
    anew = go([declared()], tmp_path / "anew", Store(tmp_path / "another"))
    assert determined(tmp_path / "anew") == before[0]
    assert anew.results.rows == first.results.rows


def test_without_the_store_rows_in_the_folder_are_not_made_again(declared, store, tmp_path):
    go([declared()], tmp_path / "out", store)
    before, told = determined(tmp_path / "out"), []
    go([declared()], tmp_path / "out", Store(tmp_path / "new"), progress=told.append)
    assert (determined(tmp_path / "out"), told) == (before, [])


def test_a_changed_line_alone_is_made_again(declared, store, tmp_path):
    go([declared()], tmp_path / "out", store)
    changed = declared(("original", "Original", "{}"), ("finetune", "Finetune", "{ epochs = 1 }"))
    began = []
    finished = go([changed], tmp_path / "out", store, progress=lambda now: began.append(now.name))
    assert [row.options.get("epochs") for row in finished.results.rows] == [2, 1]
    assert not any("of original" in name for name in began)


def test_in_pieces_it_is_the_same_file(declared, store, tmp_path):
    one, two = declared(name="one"), declared(name="two", kind="curve")
    go([one, two], tmp_path / "whole", store)
    for piece, only in ((two, ()), (one, ("siamese",)), (one, ("original", "Finetune")), (one, ("retrain",))):
        go([piece], tmp_path / "pieces", store, only=only)
    assert determined(tmp_path / "pieces") == determined(tmp_path / "whole")
    assert set(read(tmp_path / "pieces").experiments) == {"own/one", "own/two"}


def test_what_a_file_does_not_declare_any_more_is_left_out(declared, store, tmp_path):
    go([declared()], tmp_path / "out", store)
    fewer = declared(("original", "Original", "{}"), ("retrain", "Retrain", "{}"))
    finished = go([fewer], tmp_path / "out", store)
    assert [row.label for row in finished.results.rows] == ["Original", "Retrain"]
    assert [timing.label for timing in finished.results.timings] == ["Retrain"]


def test_stopped_it_keeps_whole_rows_and_continues(declared, store, tmp_path):
    go([declared()], tmp_path / "whole", Store(tmp_path / "another"))
    asked = [0]

    def interrupted():
        asked[0] += 1
        return asked[0] == 20

    with pytest.raises(Interrupted):
        go([declared()], tmp_path / "out", store, interrupted=interrupted)
    so_far = (tmp_path / "out" / "rows.jsonl").read_bytes()
    assert (tmp_path / "whole" / "rows.jsonl").read_bytes().startswith(so_far)
    go([declared()], tmp_path / "out", store)
    assert determined(tmp_path / "out") == determined(tmp_path / "whole")


def test_one_failed_step_takes_only_its_own_rows(declared, store, tmp_path):
    methods = (("original", "Original", "{}"), ("sisa", "SISA", "{}"), ("finetune", "Finetune", "{ epochs = 1 }"))
    finished = go([declared(*methods)], tmp_path / "out", store)
    assert [row.label for row in finished.results.rows] == ["Original", "Finetune"]
    (error,) = finished.failed.values()
    assert isinstance(error, InputRefused)
    assert len(finished.skipped) == 3  # its figures, its audit, its distance


def test_a_failed_run_is_a_row(declared, store, tmp_path):
    methods = (("original", "Original", "{}"), ("neggrad", "NegGrad", "{ lr = 1e30, epochs = 2 }"))
    finished = go([declared(*methods)], tmp_path / "out", store)
    original, failed = finished.results.rows
    assert "non-finite" in failed.failed
    assert failed.figures["acc_dr"] == original.figures["acc_dr"]  # of the last good network
    assert failed.figures["samples"] is None
    assert failed.options["lr"] == 1e30


def test_a_row_without_its_audit_is_still_a_row(declared, store, tmp_path, monkeypatch):
    monkeypatch.setattr("sublimate.bench.analysis.audit", lambda *a, **k: 1 // 0)
    finished = go([declared()], tmp_path / "out", store)
    assert len(finished.failed) == 4
    assert [(row.audit, row.key) for row in finished.results.rows] == [(None, "")] * 4
    monkeypatch.undo()
    assert all(row.audit and row.key for row in go([declared()], tmp_path / "out", store).results.rows)


def test_kinds_give_their_rows(declared, store, tmp_path):
    kinds = [declared(kind=kind, name=kind) for kind in ("curve", "kl", "tsne")]
    found = go(kinds, tmp_path / "out", store).results
    by_kind = {kind: [row for row in found.rows if row.kind == kind] for kind in ("curve", "kl", "tsne")}
    assert [(row.label, row.epoch) for row in by_kind["curve"]] == [
        ("Original", 0.0),
        ("Retrain", 2.0),
        *(("Siamese", float(e)) for e in range(3)),
        *(("Finetune", float(e)) for e in range(3)),
    ]
    assert set(by_kind["kl"][0].figures) == {"kl_dr", "kl_df", "spread_dr", "spread_df"}
    assert [row.figures for row in by_kind["tsne"]] == [{}] * 4
    assert [points.label for points in found.points] == ["Original", "Retrain", "Siamese", "Finetune"]
    assert len(found.points[0].points) == 2 * 10 * planning.VIEWS["smoke"][1]


def test_a_damaged_file_is_refused_before_the_work(declared, store, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "rows.jsonl").write_text("{}\n")
    with pytest.raises(InputRefused, match="line 1"):
        go([declared()], tmp_path / "out", store, progress=lambda now: pytest.fail("it began"))


# --- kills -----------------------------------------------------------------------------------------------------------


def start(path, folder):
    environment = os.environ | {"SUBLIMATE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    code = (
        "import sys; from pathlib import Path; import torch; torch.set_num_threads(1);"
        "from sublimate.bench.experiments import find; from sublimate.bench.running import bench;"
        "bench(find(sys.argv[1]), edition='smoke', seeds=1, folder=Path('out'))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=folder, env=environment, stderr=subprocess.PIPE
    )


def kill_often(path, folder, kills, seed):
    (folder / "whole").mkdir()
    process, began = start(path, folder / "whole"), time.monotonic()
    _, err = process.communicate()
    assert process.returncode == 0, err
    longest, moments, landed = time.monotonic() - began, random.Random(seed), 0
    whole = determined(folder / "whole" / "out")
    while landed < kills:
        process = start(path, folder)
        try:
            process.communicate(timeout=moments.uniform(0.3, 1.0) * longest)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            landed += 1
            continue
        assert process.returncode == 0
        assert determined(folder / "out") == whole
        for name in ("cache", "out"):
            (folder / name).rename(folder / f"{name} before kill {landed} {time.monotonic()}")
    _, err = (process := start(path, folder)).communicate()
    assert process.returncode == 0, err
    assert determined(folder / "out") == whole
    read(folder / "out")
    assert not list((folder / "out").glob(".*partial"))


FEW = (("retrain", "Retrain", "{}"), ("siamese", "Siamese", "{ lr = 1e-2, epochs = 9 }"))


def test_killed_twice(declared, tmp_path):
    declared(*FEW)
    kill_often(tmp_path / "toy.toml", tmp_path, kills=2, seed=1)


@pytest.mark.slow
def test_killed_twenty_times(declared, tmp_path):
    declared()
    kill_often(tmp_path / "toy.toml", tmp_path, kills=20, seed=2)


def test_two_at_once_share_the_work(declared, tmp_path):
    declared(*FEW)
    both = [start(tmp_path / "toy.toml", tmp_path) for _ in range(2)]
    for process in both:
        _, err = process.communicate()
        assert process.returncode == 0, err
    go([load(tmp_path / "toy.toml")], tmp_path / "alone", Store(tmp_path / "another"))
    assert determined(tmp_path / "out") == determined(tmp_path / "alone")


@pytest.mark.slow
def test_on_ray_it_is_the_same_file(declared, store, tmp_path):
    pytest.importorskip("ray", reason="ray is not installed (the extra `cluster`)")
    go([declared()], tmp_path / "here", Store(tmp_path / "another"))
    go([declared()], tmp_path / "ray", store, workers="local-ray")
    assert determined(tmp_path / "ray") == determined(tmp_path / "here")


# --- the paper's own networks ----------------------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Sixteen records that carry the names of classes of CIFAR-10 and CIFAR-100; training in batches of eight."""
    monkeypatch.setitem(RECIPES, "paper", replace(RECIPES["paper"], batch_size=8))
    monkeypatch.setattr(planning, "PAPER_VIEWS", (2, 3))
    monkeypatch.setattr(planning, "MAPPED", 2)
    pixels = np.random.default_rng(0)
    paths = {}
    for data, names in (("cifar10", "automobile cat truck ship"), ("cifar100", "dolphin seal trout whale")):
        y = np.repeat(np.arange(4), (6, 3, 3, 4))
        x, u = pixels.integers(0, 256, (2, 16, 32, 32, 3), dtype=np.uint8)
        paths[data] = tmp_path / f"{data}.npz"
        np.savez(paths[data], x_train=x, y_train=y, x_test=u, y_test=y, classes=np.array(names.split()))
    return paths


def shortened(experiment, data, audited):
    """The experiment of the paper's edition on tiny data: one epoch, batches of eight, few records."""
    found = experiment.model_dump(by_alias=True, exclude_none=True)
    for setting in found["settings"]:
        for edition in ("smoke", "cpu"):
            setting.pop(edition, None)
        if case := setting.get("paper"):
            case |= {"data": str(data[case["data"]]), "epochs": 1, "few": 8, "batch_size": 8}
    found["settings"] = [setting for setting in found["settings"] if "paper" in setting]
    for method in found["methods"]:
        known = METHODS[method["name"]].__dataclass_fields__
        short = {"epochs": 1, "steps": 2, "lr": 1e-4, "alpha": 10.0}
        method["set"] |= {name: value for name, value in short.items() if name in known and method["name"] != "retrain"}
        method |= {"reported": {}, "editions": {}, "audited": audited and method.get("audited", True)}
    short = Experiment.model_validate(found, strict=False)
    short._text = experiment.text  # what is written beside the rows
    return short


def run_paper(experiment, data, folder, only=(), audited=True):
    short, store = shortened(experiment, data, audited), Store(folder / "store")
    finished = bench([short], edition="paper", seeds=1, folder=folder, only=only, store=store)
    assert not finished.failed, [str(error) for error in finished.failed.values()]
    return finished.results.rows


@pytest.mark.parametrize(
    ("name", "model", "label"),
    [
        ("full-class/cifar10", "vgg16-bn", "Finetune"),
        ("sub-class/cifar100", "resnet18", "Siamese"),
        ("random/cifar100", "resnet50", "Finetune"),
    ],
)
def test_the_papers_networks_run(name, model, label, tiny, tmp_path):
    (experiment,) = find(name)
    (row,) = run_paper(experiment, tiny, tmp_path / "out", only=(label,), audited=False)
    assert (row.model, row.label, row.options["batch_size"]) == (model, label, 8)
    assert row.gap["acc_dr"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("experiment", listed(), ids=lambda experiment: experiment.id)
def test_every_experiment_of_the_paper_runs(experiment, tiny, tmp_path):
    rows = run_paper(experiment, tiny, tmp_path / "out")
    wanted = {(case.model, method.label) for _, case, method in experiment.pairs("paper")}
    assert {(row.model, row.label) for row in rows} == wanted
