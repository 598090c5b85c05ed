"""The whole edition smoke, by the command itself: killed twenty times it leaves the same bytes, here and on Ray."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import pytest

from sublimate.bench.experiments import find
from sublimate.bench.results import read

KILLS = 20
FILES = ("rows.jsonl", "points.jsonl")


def start(folder, *more):
    environment = os.environ | {"SUBLIMATE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    words = ("bench", "all", "--edition", "smoke", "--seeds", "2", "--out", "out", "--quiet", *more)
    return subprocess.Popen(
        [sys.executable, "-m", "sublimate", *words], cwd=folder, env=environment, stderr=subprocess.PIPE
    )


def determined(folder):
    return [(folder / "out" / name).read_bytes() for name in FILES]


def ended(process):
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What an uninterrupted run leaves, and its seconds."""
    folder, began = tmp_path_factory.mktemp("whole"), time.monotonic()
    ended(start(folder))
    return folder, time.monotonic() - began


@pytest.mark.slow
def test_everything_is_there_and_rendered(whole):
    folder, _ = whole
    rows = read(folder / "out").rows
    assert {row.experiment for row in rows} == {one.id for one in find("all")}
    assert {row.seed for row in rows} == {0, 1} and all(row.key for row in rows)
    endings = {path.suffix for part in ("tables", "figures") for path in (folder / "out" / part).iterdir()}
    assert endings == {".md", ".tex", ".csv", ".png", ".svg", ".pdf"}


@pytest.mark.slow
@pytest.mark.parametrize("where", [(), ("--cluster", "local")], ids=["here", "ray"])
def test_killed_twenty_times_it_is_the_same_file(where, whole, tmp_path):
    if where:
        pytest.importorskip("ray", reason="ray is not installed (the extra `cluster`)")
    folder, seconds = whole
    moments, landed = random.Random(3), 0
    while landed < KILLS:
        process = start(tmp_path, *where)
        try:
            process.communicate(timeout=moments.uniform(0.0, seconds / KILLS) + 5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            landed += 1
            continue
        assert process.returncode == 0
        for name in ("cache", "out"):  # it was done before the last kill: from the beginning
            (tmp_path / name).rename(tmp_path / f"{name} {landed}")
    ended(start(tmp_path, *where))
    assert determined(tmp_path) == determined(folder)
