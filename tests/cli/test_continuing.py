"""An unfinished run is continued by the same command only: what it read meanwhile changed makes another run."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
import torch
from safetensors.torch import save_file

from sublimate.checkpoint import load_checkpoint
from sublimate.records import TrainingRecords


@pytest.fixture
def stopped(monkeypatch, call):
    """A command that is interrupted after so many iterations."""

    def stopped(command, iterations, *args):
        left = iter(range(iterations))

        @contextmanager
        def signals():
            yield lambda: next(left, None) is None

        with monkeypatch.context() as patch:
            patch.setattr(f"sublimate.cli.{command}.signals", signals)
            assert call(command, *args)[0] == 75

    return stopped


def test_a_preset_that_was_edited_is_another_run(made, tmp_path, call, stopped, monkeypatch):
    preset, out = tmp_path / "p.toml", tmp_path / "erased.safetensors"
    words = ["--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3", "--no-evaluate"]
    words += ["--method", "finetune", "--preset", preset, "--out", out, "--few", "200"]
    preset.write_text("[options]\nlr = 0.2\nepochs = 6\n")
    stopped("erase", 5, *words)
    preset.write_text("[options]\nlr = 0.02\nepochs = 6\n")
    found = []
    for cache in ("as it is", "fresh"):
        if cache == "fresh":
            monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "fresh"))
        assert call("erase", *words)[0] == 0
        found.append(load_checkpoint(out))
    assert found[0].meta == found[1].meta
    assert all(torch.equal(found[0].state[name], found[1].state[name]) for name in found[1].state)


def test_a_list_of_watched_records_that_was_edited_is_another_run(tmp_path, call, stopped):
    listed, kept = tmp_path / "watched.txt", tmp_path / "kept.safetensors"
    words = ["--data", "digits", "--model", "small-cnn", "--epochs", "1", "--for", "amnesiac-true", "--records", kept]
    words += ["--watch", f"ids:{listed}", "--out", tmp_path / "original.safetensors"]
    listed.write_text("5\n")
    stopped("train", 9, *words)
    listed.write_text("5\n6\n7\n8\n")
    assert call("train", *words)[0] == 0
    rows = [t for name, t in TrainingRecords.load(kept).tensors.items() if name.startswith("rows.")]
    assert torch.cat(rows).sort().values.tolist() == [5, 6, 7, 8]


DATA = """
import json
from dataclasses import replace

import sublimate as sm

def digits():
    return replace(sm.load("digits"), **json.load(open("facts.json")))
"""


@pytest.mark.parametrize("facts", [{"flip": True}, {"mean": [0.5], "std": [0.1]}])
@pytest.mark.parametrize("command", ["train", "erase"])
def test_data_that_are_read_in_another_way_make_another_run(made, tmp_path, call, stopped, monkeypatch, command, facts):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "changing_digits.py").write_text(DATA)
    (tmp_path / "facts.json").write_text('{"flip": false}')
    save_file(load_checkpoint(made / "original.safetensors").state, "foreign.safetensors")
    words = ["--data", "changing_digits:digits", "--out", "out.safetensors", "--quiet", "--model"]
    more = ["small-cnn", "--epochs", "1"]
    if command == "erase":
        more = ["foreign.safetensors", "--forget", "class:3", "--method", "finetune", "--no-evaluate", "--few", "500"]
    stopped(command, 5, *words, *more)
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    found = []
    for cache in ("as it is", "fresh"):
        if cache == "fresh":
            monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "fresh"))
        assert call(command, *words, *more)[0] == 0
        found.append((tmp_path / "out.safetensors").read_bytes())
    assert found[0] == found[1]
