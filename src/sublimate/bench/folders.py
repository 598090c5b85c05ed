"""A folder of results that one process at a time writes in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files import make_folder

try:
    import fcntl
except ImportError:  # no such locks here: whoever writes last, writes
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"  # there only while somebody writes


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else writes in this folder meanwhile, whatever cache they use."""
    make_folder(folder)
    path = folder / LOCK
    descriptor = _locked(path)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)  # which frees the lock; the system does it for a killed process


def _locked(path: Path) -> int | None:
    """A file that is locked and still stands under its name; None where there are no locks."""
    while fcntl is not None:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # what is written next says why
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _stands(path, descriptor):
                return descriptor
        except OSError:  # a file system without locks
            return descriptor
        os.close(descriptor)  # who had it before has removed it
    return None


def _stands(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
