"""What a person sees: prose, tables, progress bars; and one JSON object for programs."""

from __future__ import annotations

import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from ..errors import ResourceError

if TYPE_CHECKING:
    from ..loop import Progress


class Rate(ProgressColumn):
    """How many per second."""

    def render(self, task: Task) -> Text:
        """The rate, once it is known."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "", style="cyan")


class Lasting(Console):
    """A console that outlives its reader: who looked at the beginning alone (`| head`) does not end the work."""

    def on_broken_pipe(self) -> None:
        """Say nothing more; the console's own answer would be to end the command."""
        self.quiet = True
        _discard(self.file)


class Ui:
    """Prose and tables go to stdout, or to stderr when stdout carries JSON; bars always to stderr.

    With JSON, `sys.stdout` is stderr until the command ends: what the user's own functions print is no JSON.
    """

    def __init__(self, *, json: bool, quiet: bool) -> None:
        self.json, self.quiet, self._out = json, quiet, sys.stdout
        if json:
            sys.stdout = sys.stderr
        self._prose, self._bars = Lasting(stderr=json, highlight=False), Lasting(stderr=True, highlight=False)

    def say(self, text: object) -> None:
        """A line or a table."""
        if not self.quiet:
            self._prose.print(escape(text) if isinstance(text, str) else text)

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            self._prose.print(f"[dim]note:[/dim] {escape(text)}")

    def warn(self, text: str) -> None:
        """Something worth worrying about; shown even when quiet."""
        self._bars.print(f"[yellow]warning:[/yellow] {escape(text)}")

    def result(self, value: dict[str, Any]) -> None:
        """The JSON object, when asked for."""
        if self.json:
            unicode = "utf" in (getattr(self._out, "encoding", None) or "utf-8").lower()
            try:
                print(jsonlib.dumps(value, ensure_ascii=not unicode), file=self._out, flush=True)
            except OSError as error:
                _discard(self._out)
                cause = f"The result could not be written to stdout ({error.strerror})."
                raise ResourceError(
                    cause, "Files that the command wrote are whole; read its output to the end."
                ) from error

    @contextmanager
    def count(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar advanced by counts."""
        with self._open() as bars:
            task = bars.add_task(escape(label), total=total, losses="")
            yield lambda n: bars.advance(task, n)

    @contextmanager
    def steps(self, label: str) -> Iterator[Callable[[Progress], None]]:
        """A bar per phase, fed by the loop."""
        with self._open() as bars:
            tasks: dict[str, Any] = {}

            def show(p: Progress) -> None:
                if p.phase not in tasks:
                    tasks[p.phase] = bars.add_task(escape(f"{label}: {p.phase}"), total=p.total, losses="")
                losses = "  ".join(f"{name} {value:.3f}" for name, value in p.losses.items())
                bars.update(tasks[p.phase], completed=p.done, total=p.total, losses=losses)

            yield show

    def _open(self) -> Bars:
        return Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            Rate(),
            TimeRemainingColumn(compact=True),
            TextColumn("[dim]{task.fields[losses]}[/dim]"),
            console=self._bars,
            disable=self.quiet or not self._bars.is_terminal,
        )


def _discard(stream: IO[str]) -> None:
    """Let the rest of a stream go nowhere, what is flushed at the end included."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
