"""A cache disk that fills in the middle of a run ends no run, except one that is being stopped."""

from __future__ import annotations

import pytest

from sublimate.cli.keeping import Keeper
from sublimate.cli.ui import Ui
from sublimate.errors import ResourceError
from sublimate.store import Slot

FULL = ResourceError("The disk is full: s was not written.", "Free some space, then try again.")


@pytest.fixture
def disk(monkeypatch):
    """Whether it is full, and how often it was tried."""
    state = {"full": True, "tried": 0}
    write = Slot.save

    def save(self, data):
        state["tried"] += 1
        if state["full"]:
            raise FULL
        write(self, data)

    monkeypatch.setattr(Slot, "save", save)
    return state


def test_a_full_disk_is_warned_of_once_and_no_longer_tried(disk, tmp_path, capsys):
    keeper = Keeper(Ui(json=False, quiet=True), lambda: False)
    for name in ("one", "two"):
        slot = keeper.keep(Slot(tmp_path / name))
        slot.save(b"state")
        slot.save(b"state")
        assert slot.load() is None
    told = " ".join(capsys.readouterr().err.split())
    assert disk["tried"] == 1 and told.count("warning:") == 1
    assert FULL.cause in told and "SUBLIMATE_CACHE" in told


def test_who_stops_a_run_learns_that_it_is_not_saved(disk, tmp_path):
    stop = []
    slot = Keeper(Ui(json=False, quiet=True), lambda: bool(stop)).keep(Slot(tmp_path / "one"))
    slot.save(b"state")
    stop.append("now")
    with pytest.raises(ResourceError, match="SUBLIMATE_CACHE"):
        slot.save(b"state")
    disk["full"] = False  # by now there may be room again
    slot.save(b"last")
    assert slot.load() == b"last"


def test_no_slot_stays_none():
    assert Keeper(Ui(json=False, quiet=True), lambda: False).keep(None) is None


TRAIN = ("train", "--data", "digits", "--model", "small-cnn", "--epochs", "1")
DIGITS = ("--data", "digits", "--forget", "class:3", "--few", "100")


def test_every_command_goes_on(made, disk, tmp_path, call, monkeypatch):
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "cache"))  # nothing is continued
    later = iter(range(10**9, 10**12, 1000))  # than the machine can have run: saving is always due
    monkeypatch.setattr("sublimate.loop.time.monotonic", later.__next__)
    model, out = made / "original.safetensors", tmp_path / "out.safetensors"
    tune = ("tune", "--model", model, *DIGITS, "--method", "finetune", "--budget", "2", "--out", tmp_path / "p.toml")
    erase = ("erase", "--model", model, *DIGITS, "--no-evaluate", "--out", out)
    for command in ((*TRAIN, "--out", out), erase, tune):
        code, _, err = call(*command)
        assert code == 0 and " ".join(err.split()).count("no longer saved") == 1, err
