"""Killed at any moment and started again, a run ends in the same bytes; a signal saves and exits 75."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from sublimate.checkpoint import load_checkpoint

TRAIN = ["train", "--data", "digits", "--model", "small-cnn", "--epochs", "6", "--quiet"]
ERASE = ["erase", "--data", "digits", "--forget", "class:3", "--few", "300", "--no-evaluate", "--quiet"]


def start(args, folder):
    environment = os.environ | {"SUBLIMATE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "sublimate", *args], cwd=folder, env=environment, stderr=subprocess.PIPE
    )


def finish(args, folder):
    process = start(args, folder)
    _, err = process.communicate()
    assert process.returncode == 0, err
    return (folder / "out.safetensors").read_bytes()


def prepared(command, folder):
    """The command's arguments, and (for erase) an original to start from."""
    if command == "train":
        return [*TRAIN, "--out", "out.safetensors"]
    finish([*TRAIN, "--out", "out.safetensors"], folder)
    (folder / "out.safetensors").rename(folder / "original.safetensors")
    return [*ERASE, "--model", "original.safetensors", "--out", "out.safetensors"]


def kill_often(command, folder, kills, seed):
    args, moments = prepared(command, folder), random.Random(seed)
    began = time.monotonic()
    whole = finish(args, folder)
    longest = time.monotonic() - began
    (folder / "out.safetensors").unlink()
    landed = 0
    while landed < kills:
        process = start(args, folder)
        try:
            process.communicate(timeout=moments.uniform(0.0, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            landed += 1
            if (folder / "out.safetensors").exists():  # whole or not there at all
                assert (folder / "out.safetensors").read_bytes() == whole
            continue
        assert process.returncode == 0
        assert (folder / "out.safetensors").read_bytes() == whole
        (folder / "out.safetensors").unlink()
        shutil.rmtree(folder / "cache")
    assert finish(args, folder) == whole
    load_checkpoint(folder / "out.safetensors")
    assert not list(folder.glob(".*tmp*"))


@pytest.mark.parametrize("command", ["train", "erase"])
def test_killed_twice(command, tmp_path):
    kill_often(command, tmp_path, kills=2, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train", "erase"])
def test_killed_fifty_times(command, tmp_path):
    kill_often(command, tmp_path, kills=50, seed=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_says_so(number, tmp_path):
    args = [*TRAIN, "--epochs", "400", "--out", "out.safetensors"]
    process = start(args, tmp_path)
    slots = tmp_path / "cache" / "store" / "slots"
    while not (slots.exists() and list(slots.iterdir())):  # the first state is there: the run is in its loop
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == 75
    assert b"the same command continues" in err
    assert not (tmp_path / "out.safetensors").exists()
