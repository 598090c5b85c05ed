from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest

from sublimate.bench import folders
from sublimate.bench.folders import LOCK, alone


def test_the_lock_lies_in_the_folder_and_is_gone_afterwards(tmp_path: Path) -> None:
    with alone(tmp_path / "out"):
        assert [path.name for path in (tmp_path / "out").iterdir()] == [LOCK]
    assert not list((tmp_path / "out").iterdir())


def test_one_at_a_time_also_when_the_lock_is_removed_between(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def write() -> None:
        for _ in range(50):
            with alone(tmp_path):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] and not list(tmp_path.iterdir())


def test_what_a_killed_process_left_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    with alone(tmp_path):
        pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folders.fcntl, "flock", refuses)
    with alone(tmp_path):
        pass
    monkeypatch.setattr(folders, "fcntl", None)
    with alone(tmp_path):
        pass


def test_an_error_frees_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), alone(tmp_path):
        raise ZeroDivisionError
    with alone(tmp_path):
        pass
