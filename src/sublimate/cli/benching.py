"""What a person sees of a bench: progress over the whole plan, tables at the end, and where the files are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from .ui import Ui

if TYPE_CHECKING:
    from ..bench.planning import Planned
    from ..bench.results import Results
    from ..plan import Advance


@contextmanager
def shown(ui: Ui, planned: list[Planned]) -> Iterator[Callable[[Advance], None]]:
    """Tell of each step how many have ended and how long the rest takes; on a terminal in one line that moves."""
    from rich.console import Console
    from rich.markup import escape

    from ..bench.pricing import Left, costs
    from ..bench.running import steps_of
    from ..plan import price
    from ..store import Store

    if ui.quiet:
        yield lambda now: None
        return
    known = costs(planned)
    left = Left({step.name: known[step.name].seconds for step in price(steps_of(planned), Store())[1]})
    console, ended = Console(stderr=True, highlight=False), 0
    status = console.status("starting") if console.is_terminal else None

    def tell(now: Advance) -> None:
        nonlocal ended
        seconds = left.after(now)
        step = now.name.partition(" #")[0]
        line = f"{now.done}/{now.total} steps · about {duration(seconds)} left · {step}"
        if status:
            status.update(escape(line))
        elif now.done > ended:
            print(line, file=sys.stderr, flush=True)
        ended = now.done

    with status or nullcontext():
        yield tell


def duration(seconds: float) -> str:
    """As people say it.

    >>> duration(40), duration(600), duration(9000)
    ('40 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def several(number: int, what: str) -> str:
    """A number of things.

    >>> several(1, "row"), several(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def render(ui: Ui, ran: set[str], folder: Path) -> tuple[Results, list[str]]:
    """Write tables and figures of all that the folder holds by now; show the tables of what ran; the paths written."""
    from ..bench.folders import alone
    from ..bench.results import read
    from ..report.bench.figures.saving import save

    with alone(folder):  # another command may have written rows since ours, and may be writing tables
        results = read(folder)
        written = _tables(ui, results, ran, folder / "tables")
        save(results, folder / "figures")
    return results, written


def _tables(ui: Ui, results: Results, ran: set[str], folder: Path) -> list[str]:
    from ..bench.kinds import file_name
    from ..bench.summary import summarise
    from ..files import rewrite
    from ..report.bench.tables import terminal
    from ..report.bench.text import csv, latex, markdown

    written = []
    for experiment in results.experiments.values():
        summary = summarise(results.rows, results.timings, experiment)
        for ending, text in (("md", markdown(summary)), ("tex", latex(summary)), ("csv", csv(summary))):
            path = folder / f"{file_name(experiment.id)}.{ending}"
            rewrite(path, text.encode())
            written.append(str(path))
        if experiment.id in ran:
            ui.say(terminal(summary))
    return written
