"""The tables of an experiment for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...bench.lines import Summary
from .digits import HEADS, Shown
from .layout import TERMS, Sheet, about, clean
from .notes import NO_TABLE, heading, told_once

WHOLE = ("seconds", "efficiency", "samples", "audit", "seeds")  # the others have room for a break
STYLES = {"best": "bold", "second": "underline", None: ""}


def terminal(summary: Summary) -> Group:
    """All tables of an experiment with their footnotes; nothing is cut at 80 columns."""
    return Group(*_parts(summary))


def _parts(summary: Summary) -> Iterator[RenderableType]:
    yield Text(heading(summary), style="bold")
    found = list(told_once(summary))
    if not found:
        yield Text("\n".join(filter(None, (NO_TABLE, clean(summary.experiment.note)))))
    for sheet, footnotes in found:
        yield from ("", Text(about(sheet)))
        middle = len(sheet.measures)
        # Two tables, because one with all columns would not fit.
        halves = (sheet.measures, slice(0, middle)), (sheet.extras, slice(middle, None))
        for keys, cells in [half for half in halves if half[0]] or halves[:1]:
            yield from ("", _table(sheet, keys, cells))
        yield ""
        yield from (Text(note, style="dim") for note in footnotes)


def _table(sheet: Sheet, keys: Sequence[str], cells: slice) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    leads = [place for place, head in enumerate(sheet.heads) if head not in TERMS or keys == sheet.measures]
    for place in leads:
        table.add_column(sheet.heads[place], overflow="fold")
    for key in keys:
        table.add_column(HEADS[key].replace(" ", "\n"), justify="right", overflow="fold", no_wrap=key in WHOLE)
    for line in sheet.lines:
        if line.rule:
            table.add_section()
        figures = [cell_text(cell) for cell in line.cells[cells]]
        table.add_row(*(Text(line.lead[place]) for place in leads), *figures, style="dim" if line.yardstick else "")
    return table


def cell_text(cell: Shown) -> Text:
    """Reported / measured ± half an interval, and on a second line the gap."""
    text = Text(f"{cell.reported}{cell.signs} / " if cell.reported else "")
    text.append(cell.value.replace(", ", "\n"), STYLES[cell.mark])  # verdicts, one below the other
    text.append(f" ±{cell.half}" if cell.half else "")
    if cell.gap:
        text.append(f"\n({cell.gap}{f' ±{cell.gap_half}' if cell.gap_half else ''})")
    return text
