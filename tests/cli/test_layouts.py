"""What is written has the layout of what was read, time and again, and its figures are of what is in the file."""

from __future__ import annotations

import json

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from sublimate.checkpoint import load_checkpoint
from sublimate.models.registry import build

DIGITS = ("--data", "digits", "--forget")
FAST = ("--set", "lr=1e-3", "--few", "200")


def foreign(made, path, dtype=torch.bfloat16):
    """The original as somebody else would keep it: wrapped, in half precision, with notes."""
    state = load_checkpoint(made / "original.safetensors").state
    halved = {f"module.{key}": t.to(dtype) if t.is_floating_point() else t for key, t in state.items()}
    save_file(halved, path, metadata={"author": "me"})
    return path


def test_a_second_erasure_keeps_the_layout_too(made, tmp_path, call):
    paths = [foreign(made, tmp_path / "0.safetensors"), tmp_path / "1.safetensors", tmp_path / "2.safetensors"]
    for before, after, request in ((paths[0], paths[1], "class:3"), (paths[1], paths[2], "class:4")):
        args = ("erase", "--model", before, "--out", after, *DIGITS, request, *FAST, "--no-evaluate")
        code, _, err = call(*args, "--arch", "small-cnn")
        assert code == 0, err
    first, last = load_file(paths[0]), load_file(paths[2])
    assert {key: t.dtype for key, t in first.items()} == {key: t.dtype for key, t in last.items()}
    with safe_open(paths[2], "pt") as file:
        assert file.metadata()["author"] == "me"


def test_figures_are_those_of_the_rounded_network(made, tmp_path, call):
    before, after = foreign(made, tmp_path / "0.safetensors"), tmp_path / "1.safetensors"
    code, text, err = call("erase", "--model", before, "--out", after, *DIGITS, "class:3", *FAST, "--json")
    assert code == 0, err
    told = json.loads(text)["after"]
    code, text, err = call("evaluate", "--model", after, *DIGITS, "class:3", "--json")
    assert code == 0, err
    assert {name: json.loads(text)["models"][0][name] for name in told} == told


def test_a_suffix_says_what_a_file_is(made, tmp_path, call):
    trained, erased = tmp_path / "trained.pt", tmp_path / "erased.pt"
    args = ("train", "--data", "digits", "--model", "small-cnn", "--epochs", "1")
    code, out, err = call(*args, "--out", trained)
    assert code == 0 and "weights alone" in out, err
    args = ("erase", "--model", made / "original.safetensors", *DIGITS, "class:3", *FAST, "--no-evaluate")
    code, out, err = call(*args, "--out", erased)
    assert code == 0 and "weights alone" in out, err
    for path in (trained, erased):
        build("small-cnn", 10, channels=1, size=8).load_state_dict(torch.load(path, weights_only=True), strict=True)


def test_an_equal_copy_is_not_written(made, tmp_path, call):
    out = tmp_path / "out.safetensors"
    args = ("erase", "--model", made / "original.safetensors", *DIGITS, "class:3", "--method", "original")
    code, _, err = call(*args, "--out", out)
    assert code == 6 and "all weights are as they were" in " ".join(err.split()) and not out.exists()
