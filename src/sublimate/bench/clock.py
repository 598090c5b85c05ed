"""Seconds of a run alone; a killed and continued one counts what its saved state has cost, once."""

from __future__ import annotations

import platform
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import torch

from ..loop import Saver

_SECONDS = struct.Struct(">d")


class Clock:
    """Runs from its making, and goes on from where a saved state stood.

    >>> ticks = iter((0.0, 5.0))
    >>> Clock(lambda: next(ticks)).seconds
    5.0
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._began = now()

    @property
    def seconds(self) -> float:
        """How long the run has taken, the pieces before a kill included."""
        return self._now() - self._began

    def resume(self, seconds: float) -> None:
        """Go on from there."""
        self._began = self._now() - seconds

    def over(self, saver: Saver) -> Saver:
        """The same place to save in; each state keeps the seconds with it."""
        return _Timed(saver, self)

    def facts(self, device: str) -> dict[str, Any]:
        """What is not determined: how long, by how many threads, on what device, where and when."""
        return {
            "seconds": round(self.seconds, 2),
            "threads": torch.get_num_threads(),
            "device": device,
            "host": platform.node(),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }


@dataclass(frozen=True)
class _Timed:
    saver: Saver
    clock: Clock

    def load(self) -> bytes | None:
        data = self.saver.load()
        if data is None:
            return None
        self.clock.resume(*_SECONDS.unpack_from(data))
        return data[_SECONDS.size :]

    def save(self, data: bytes) -> None:
        self.saver.save(_SECONDS.pack(self.clock.seconds) + data)
