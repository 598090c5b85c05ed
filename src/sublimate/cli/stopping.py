"""Ctrl-C and SIGTERM: a run that can be saved is saved, and anything else ends with a word."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Somebody asked for an end at once; no `except Exception` on the way may swallow it."""


@contextmanager
def stoppable() -> Iterator[None]:
    """A signal ends the command with `Stopped`: the library of the command line would end it without a word."""
    with _handled(_stop):
        yield


@contextmanager
def signals() -> Iterator[Callable[[], bool]]:
    """SIGINT and SIGTERM ask the run to save and stop; a second one ends it at once."""
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            _stop(number, frame)
        asked.append(number)

    with _handled(ask):
        yield lambda: bool(asked)


def _stop(number: int, frame: object) -> None:
    raise Stopped(signal.Signals(number).name)


@contextmanager
def _handled(handler: Callable[[int, object], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there a handler may be set
        yield
        return
    before = {number: signal.signal(number, handler) for number in NUMBERS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
