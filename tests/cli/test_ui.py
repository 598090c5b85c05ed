"""A reader who goes away ends no work; a result that nobody gets is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch


def closed_pipe(*args):
    """A command whose stdout nobody reads: exit code, stderr."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([sys.executable, "-m", "sublimate", *map(str, args)], stdout=writing, stderr=-1)
    finally:
        os.close(writing)
    return done.returncode, done.stderr.decode()


def test_work_goes_on_when_nobody_reads(tmp_path):
    out = tmp_path / "out.safetensors"
    train = ("train", "--data", "digits", "--model", "small-cnn", "--epochs", "1", "--out", out)
    assert closed_pipe(*train) == (0, "") and out.exists()


def test_a_result_that_cannot_be_written_is_told():
    code, err = closed_pipe("env", "--json")
    assert code == 5 and "could not be written to stdout (Broken pipe)" in err and "Exception ignored" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_result_on_a_full_disk_is_told():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "sublimate", "env", "--json"], stdout=full, stderr=-1)
    assert done.returncode == 5 and b"could not be written to stdout (No space left" in done.stderr


CHATTY = """
import torch
from torch import nn

import sublimate as sm

def digits():
    print("reading digits")
    return sm.load("digits")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        print("looking at digits")
        return self.linear(x.flatten(1))
"""


def test_what_functions_of_the_user_print_is_no_json(tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chatty.py").write_text(CHATTY)
    torch.save({"linear.weight": torch.zeros(10, 64), "linear.bias": torch.zeros(10)}, "net.pt")
    words = ("evaluate", "--model", "net.pt", "--arch", "chatty:Net", "--data", "chatty:digits")
    stdout = sys.stdout
    code, out, err = call(*words, "--json")
    assert code == 0 and json.loads(out)["models"][0]["model"] == "net.pt"
    assert "reading digits" in err and "looking at digits" in err and sys.stdout is stdout
    assert "reading digits" in call(*words)[1]
