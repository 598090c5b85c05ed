"""Nothing that a command reads is overwritten by what it writes."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from sublimate.errors import ResourceError

DIGITS = ("--data", "digits", "--forget", "class:3")


@pytest.fixture
def here(made, tmp_path):
    """A network of its own, a list of ids, and data."""
    (tmp_path / "model.safetensors").write_bytes((made / "original.safetensors").read_bytes())
    (tmp_path / "ids.txt").write_text("7\n")
    x, y = np.zeros((20, 8, 8), np.uint8), np.arange(20) % 10
    np.savez(tmp_path / "data.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    return tmp_path


ALIKE = {
    "tune": "tune --model M --method siamese --budget 1 --out M DIGITS",
    "audit": "audit --model M --original M --report M DIGITS",
    "reference": "erase --model M --reference R --out R DIGITS",
    "ids": "erase --model M --data digits --forget ids:I --out I",
    "excluded ids": "erase --model M --exclude ids:I --out I DIGITS",
    "npz": "erase --model M --data D --forget id:7 --out D",
    "npz of train": "train --model small-cnn --data D --out D",
    "page": "erase --model M --out N --report N DIGITS",
    "records": "erase --model M --out N --records-out N DIGITS",
    "records of train": "train --data digits --model small-cnn --out N --records N --for sisa",
}


@pytest.mark.parametrize("case", ALIKE)
def test_an_output_is_no_input_and_no_other_output(here, call, case):
    names = {"M": "model.safetensors", "R": "model.safetensors", "I": "ids.txt", "D": "data.npz", "N": "new"}
    paths = {letter: str(here / name) for letter, name in names.items()}
    paths |= {"ids:I": f"ids:{here / 'ids.txt'}"}
    words = ALIKE[case].replace("DIGITS", " ".join(DIGITS)).split()
    args = [paths.get(word, word) for word in words]
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    code, _, err = call(*args)
    assert code == 3 and ("read by this very command" in err or "two outputs" in err), err
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_page_does_not_replace_its_rows(tmp_path, call):
    (tmp_path / "rows.jsonl").write_text("{}\n")
    code, _, err = call("report", tmp_path, "--out", tmp_path / "rows.jsonl")
    assert code == 3 and "read by this very command" in err
    assert (tmp_path / "rows.jsonl").read_text() == "{}\n"


def test_a_pipe_stays_one(here, call):
    os.mkfifo(here / "pipe")
    code, _, err = call("erase", "--model", here / "model.safetensors", "--out", here / "pipe", *DIGITS)
    assert code == 5 and "a pipe" in err and (here / "pipe").is_fifo()


@pytest.mark.parametrize("command", ["erase", "train", "evaluate"])
def test_an_empty_request_is_refused(here, call, command):
    model = "small-cnn" if command == "train" else here / "model.safetensors"
    out = [] if command == "evaluate" else ["--out", here / "new"]
    code, _, err = call(command, "--model", model, "--data", "digits", "--forget", "", *out)
    assert code == 3 and "cannot be read" in err


def test_a_page_without_figures_is_refused(here, call):
    out = ("--out", here / "new", "--report", here / "page.html", "--no-evaluate")
    code, _, err = call("erase", "--model", here / "model.safetensors", *DIGITS, *out)
    assert code == 2 and "nothing to show" in err


@pytest.mark.parametrize("command", ["erase", "audit"])
def test_a_page_that_cannot_be_written_hides_no_result(here, call, command, monkeypatch):
    def full(path, data):
        raise ResourceError("The disk is full.", "Free some space.")

    monkeypatch.setattr("sublimate.report.page.write_whole", full)
    model, page = here / "model.safetensors", here / "page.html"
    words = ["--model", model, *DIGITS, "--report", page, "--json"]
    words += ["--out", here / "new", "--set", "lr=1e-3"] if command == "erase" else ["--original", model]
    code, out, err = call(command, *words)
    assert code == 5 and "only the page is missing" in " ".join(err.split())
    if command == "erase":
        assert json.loads(out)["after"]["acc_df"] < 50 and f"The network is written to {here / 'new'}" in err
    else:
        assert json.loads(out)["verdict"] == "FAIL" and "The verdict is FAIL" in err
