"""A network of the user's own, by module:function: everything that ours can do."""

from __future__ import annotations

import sys

import pytest
import torch

MODULE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(64))  # which nothing can reset
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(x.flatten(1) * self.scale)

def net():
    return Net()
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory, request):
    """The module, a network that it builds, and its Retrain, both as foreign files."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_net.py").write_text(MODULE)
    return folder


@pytest.fixture
def trained(own, call, monkeypatch):
    monkeypatch.chdir(own)
    monkeypatch.syspath_prepend(own)
    for name, extra in (("original.pt", []), ("retrain.pt", ["--forget", "class:3"])):
        if not (own / name).exists():
            words = ["--data", "digits", "--model", "own_net:net", "--epochs", "4", "--out", name, *extra]
            assert call("train", *words)[0] == 0
    return ["--model", "original.pt", "--data", "digits", "--forget", "class:3", "--arch", "own_net:net"]


@pytest.mark.parametrize("method", ["badt", "retrain"])
def test_methods_that_need_a_fresh_network_build_one(trained, call, tmp_path, method):
    out = tmp_path / "erased.pt"
    code, _, err = call("erase", *trained, "--method", method, "--out", out, "--set", "epochs=3", "--no-evaluate")
    assert code == 0, err
    assert set(torch.load(out, weights_only=True)) == {"scale", "head.weight", "head.bias"}


def test_tune_opens_the_reference_as_it_opens_the_network(trained, call, tmp_path):
    words = ["--method", "finetune", "--few", "200", "--budget", "1", "--reference", "retrain.pt"]
    code, _, err = call("tune", *trained, *words, "--out", tmp_path / "tuned.toml")
    assert code == 0, err


def test_records_that_a_method_cannot_leave_are_not_promised(trained, call, tmp_path):
    out = tmp_path / "erased.pt"
    words = ["--method", "finetune", "--out", out, "--records-out", tmp_path / "kept.safetensors"]
    code, _, err = call("erase", *trained, *words)
    assert code == 2 and "finetune leaves no records of training" in err and not out.exists()


def test_options_describe_the_foreign_files_alone(trained, made, call):
    args = ("evaluate", "--model", made / "original.safetensors", "--data", "digits")
    plain = call(*args, "--json")[1]
    code, text, err = call(*args, "--mean", "5", "--std", "0.1", "--arch", "own_net:net", "--json")
    assert code == 0 and text == plain
    assert "--mean and --std are not used" in err and "--arch is not used for original.safetensors" in err


def test_a_foreign_network_beside_one_of_ours(trained, made, call):
    code, _, err = call("evaluate", *trained, "--reference", made / "retrain.safetensors")
    assert code == 0, err


def test_a_network_whose_module_has_moved_is_opened_by_its_new_name(trained, own, call):
    (own / "old_net.py").write_text(MODULE)
    words = ["--data", "digits", "--model", "old_net:net", "--epochs", "1", "--out", "moved.safetensors"]
    assert call("train", *words)[0] == 0
    sys.modules.pop("old_net")
    (own / "old_net.py").unlink()
    args = ("evaluate", "--model", "moved.safetensors", "--data", "digits")
    assert call(*args)[0] == 3
    code, out, err = call(*args, "--arch", "own_net:net")
    assert code == 0 and "not used" not in out, err
