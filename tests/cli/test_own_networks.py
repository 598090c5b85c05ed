"""A network of the user's own, by module:function: everything that ours can do."""

from __future__ import annotations

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
