"""Whatever is given, a command ends with a cause and a remedy, and not with something unforeseen."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

MODULE = """
import torch
from torch import nn

class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        raise ValueError("wants another image")

def raising(classes):
    raise KeyError("no such net")

def lazy():
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(10))

number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oddnets.py").write_text(MODULE)
    (tmp_path / "oddimport.py").write_text("raise KeyError('at import')\n")
    yield tmp_path
    sys.modules.pop("oddnets", None)


TRAIN = ("train", "--data", "digits", "--epochs", "1", "--quiet", "--out", "out.safetensors", "--model")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("oddnets:Picky", "wants another image"),
        ("oddnets:raising", "KeyError: 'no such net'"),
        ("oddnets:number", "not a function"),
        ("oddimport:net", "KeyError: 'at import'"),
    ],
)
def test_networks_of_the_user(here, call, model, words):
    code, _, err = call(*TRAIN, model)
    assert code == 3 and words in " ".join(err.split()), err
    assert not (here / "out.safetensors").exists()


def test_a_network_without_shapes_is_tried_first(here, call):
    code, _, err = call(*TRAIN, "oddnets:lazy")
    assert code == 0, err


def test_a_network_that_fails_is_refused_by_evaluate(here, call):
    torch.save({"linear.weight": torch.zeros(10, 64), "linear.bias": torch.zeros(10)}, "net.pt")
    code, _, err = call("evaluate", "--model", "net.pt", "--arch", "oddnets:Picky", "--data", "digits")
    assert code == 3 and "wants another image" in err


PRESETS = {"table": b"options = 3\n", "empty": b"", "bytes": b"\xff\xfe", "folder": None, "nothing": None}


@pytest.mark.parametrize("case", PRESETS)
def test_presets_that_are_none(made, here, call, case):
    path = here / "preset.toml"
    if PRESETS[case] is not None:
        path.write_bytes(PRESETS[case])
    elif case == "folder":
        path.mkdir()
    preset = "" if case == "nothing" else path
    args = ("erase", "--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3", "--out", "o")
    for more in ((), ("--dry-run",)):
        code, _, err = call(*args, "--preset", preset, *more)
        assert code in (2, 3) and "preset" in err


@pytest.mark.parametrize(
    ("option", "value", "code", "words"),
    [
        ("--device", "meta", 2, "No device"),
        ("--device", "xla", 2, "No device"),
        ("--threads", "99999999", 2, "threads"),
        ("--few", "²", 2, "no number"),
        ("--few", "-5", 3, "too small"),
        ("--set", "lr=true", 3, "cannot be True"),
        ("--method", "oddimport:net", 2, "at import"),
    ],
)
def test_values_that_do_not_fit(made, here, call, option, value, code, words):
    model = made / "original.safetensors"
    args = ("erase", "--model", model, "--data", "digits", "--forget", "class:3", "--out", "o", "--preset", "paper")
    found, _, err = call(*args, option, value)
    assert found == code and words in " ".join(err.split()), err


@pytest.mark.parametrize("numbers", [("nan", "1"), ("0.5", "inf"), ("0.5", "0"), ("0.5", "-1")])
def test_a_normalisation_of_no_numbers(made, tmp_path, call, numbers):
    save_file(load_file(made / "original.safetensors"), tmp_path / "foreign.safetensors")
    args = ("evaluate", "--model", tmp_path / "foreign.safetensors", "--data", "digits")
    code, _, err = call(*args, "--mean", numbers[0], "--std", numbers[1])
    assert code == 3 and "not above 0, or a value that is not finite" in " ".join(err.split())


READY = """
import torch
import sublimate as sm

def rows():
    y = torch.arange(40) % 10
    return sm.Data.from_dataset((torch.zeros(40, 1, 8, 8), y), (torch.zeros(40, 1, 8, 8), y))
"""


def test_a_normalisation_that_is_not_applied_gets_a_note(made, here, call):
    (here / "readyrows.py").write_text(READY)
    args = ("evaluate", "--model", made / "original.safetensors", "--data", "readyrows:rows")
    code, out, err = call(*args, "--mean", "0.5", "--std", "0.5")
    assert code == 0 and "is not applied" in " ".join(out.split()), err


def test_odd_arrays(here, call):
    x, y = np.zeros((20, 8, 8), np.uint8), np.arange(20) % 2
    for extra in ({"flip": np.array([True, False])}, {"classes": np.array([b"\xff", b"b"])}):
        np.savez("odd.npz", x_train=x, y_train=y, x_test=x, y_test=y, **extra)
        code, _, err = call(*TRAIN, "small-cnn", "--data", "odd.npz")
        assert code == 3 and next(iter(extra)) in err


def run(*args, **environment):
    child = [sys.executable, "-m", "sublimate", *args]
    return subprocess.run(child, capture_output=True, env=os.environ | environment)


def test_json_on_a_terminal_of_few_letters():
    done = run("methods", "--json", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and json.loads(done.stdout.decode("ascii"))["methods"], done.stderr
    done = run("methods", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


def test_a_closed_stderr_does_not_spoil_stdout(tmp_path):
    command = f"{sys.executable} -m sublimate erase --model no --data digits --forget class:3 --out o --json 2>&-"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, b"")


def test_a_cache_that_cannot_be_written_is_no_reason_to_stop(made, tmp_path, call, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "taken"))
    monkeypatch.chdir(tmp_path)
    code, _, err = call(*TRAIN, "small-cnn")
    assert code == 0 and "SUBLIMATE_CACHE" in " ".join(err.split()), err
    args = ("erase", "--model", "out.safetensors", "--data", "digits", "--forget", "class:3", "--out", "e.safetensors")
    code, _, err = call(*args, "--no-evaluate", "--set", "lr=1e-3", "--few", "100")
    assert code == 0 and "SUBLIMATE_CACHE" in " ".join(err.split()), err


DRY = {
    "scenario": ({"method": "boundary-shrink", "forget": "id:7"}, "whole classes only"),
    "records": ({"method": "sisa", "forget": "id:7"}, "needs what was kept"),
    "reference": ({"forget": "class:3", "reference": "nowhere"}, "no file"),
}


@pytest.mark.parametrize("case", DRY)
def test_a_dry_run_refuses_what_a_run_refuses(made, tmp_path, call, case):
    changes, words = DRY[case]
    options = {"model": made / "original.safetensors", "data": "digits", "out": tmp_path / "out"} | changes
    args = [part for name, value in options.items() for part in (f"--{name}", value)]
    for more in ((), ("--dry-run",)):
        code, _, err = call("erase", *args, *more)
        assert code == 3 and words in " ".join(err.split()), err


def test_sampled_figures_say_how_many_were_looked_at(made, call):
    args = ("evaluate", "--model", made / "original.safetensors", "--data", "digits", "--forget", "id:7,8,9")
    code, text, _ = call(*args, "--sample", "50", "--json")
    assert code == 0
    assert json.loads(text)["n"] == {"forget": 3, "retain": 50, "test_forget": 0, "test_retain": 50}
