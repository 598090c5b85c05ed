"""Run a plan, and keep the folder of results up to date while it runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import IntegrityError, Interrupted, SublimateError
from ..plan import Advance, Step, result, run
from ..store import Store
from .assembling import filled
from .folders import alone
from .kinds import EditionName
from .merging import merged
from .planning import Planned, plan
from .results import ROWS, Results, read, write
from .schema import Experiment

PAUSE = 5.0  # seconds from one writing of the rows so far to the next


@dataclass(frozen=True, kw_only=True)
class Finished:
    """The results in the folder, those of earlier runs included, and the steps of this run that failed."""

    results: Results
    failed: Mapping[str, SublimateError]
    skipped: tuple[str, ...] = ()  # they needed one that failed


def bench(
    experiments: Iterable[Experiment],
    *,
    edition: EditionName,
    seeds: int,
    folder: Path,
    only: Collection[str] = (),
    threads: int = 1,
    first: int = 0,
    workers: str = "local",
    store: Store | None = None,
    progress: Callable[[Advance], None] | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Finished:
    """Run the experiments and write their rows; killed and called again it continues, and two at once share the work.

    The rows are those of an uninterrupted run, byte for byte.  Rows that stand in the folder are not made again.
    """
    wanted, store = list(experiments), store or Store()
    planned = left(plan(wanted, edition, seeds, only, threads, first), folder)
    writer = _Writer(folder, planned, {one.id: one for one in wanted}, store)

    def tell(now: Advance) -> None:
        if now.within is None:
            writer.look(now)
        if progress:
            progress(now)

    writer.write()  # what is done already; and a folder that cannot be used is refused before the work
    try:
        ran = run(steps_of(planned), store, workers=workers, progress=tell, interrupted=interrupted)
    except Interrupted:
        writer.write()
        raise
    return Finished(results=writer.write(ended=True), failed=ran.failed, skipped=ran.skipped)


def left(planned: Iterable[Planned], folder: Path) -> list[Planned]:
    """What the folder does not hold yet."""
    there = {row.key for row in read(folder).rows} if (folder / ROWS).exists() else set()
    return [one for one in planned if one.key not in there]


def steps_of(planned: Iterable[Planned]) -> list[Step]:
    """All steps that give something to a row."""
    return [step for one in planned for step in one.all_steps]


@dataclass
class _Writer:
    folder: Path
    planned: list[Planned]
    experiments: Mapping[str, Experiment]
    store: Store
    _found: dict[str, Any] = field(default_factory=dict)
    _ended: int = 0
    _written: float = field(default_factory=time.monotonic)

    def look(self, now: Advance) -> None:
        """A step began or ended: what it gave is in the next rows that are written."""
        if now.done > self._ended:
            self._ended = now.done
            if time.monotonic() - self._written > PAUSE:
                self.write()

    def write(self, ended: bool = False) -> Results:
        """The rows so far, with those that were there before; a row that lacks a part waits until all has ended."""
        self._gather()
        with alone(self.folder):
            old = read(self.folder) if (self.folder / ROWS).exists() else None
            whole = merged(old, self._results(ended), self.experiments)
            write(self.folder, whole)
        self._written = time.monotonic()
        return whole

    def _gather(self) -> None:
        for step in steps_of(self.planned):
            if step.name not in self._found and self.store.find(step.key):
                with suppress(IntegrityError):  # a damaged result is made again
                    self._found[step.name] = json.loads(result(step, self.store))

    def _results(self, ended: bool) -> Results:
        whole = [
            filled(one, self._found)
            for one in self.planned
            if ended or all(step.name in self._found for step in one.all_steps)
        ]
        return Results(
            rows=tuple(row for one in whole for row in one.rows),
            timings=tuple(timing for one in whole for timing in one.timings),
            points=tuple(points for one in whole for points in one.points),
        )
