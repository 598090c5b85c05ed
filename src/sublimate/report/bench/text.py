"""The tables of an experiment as text: Markdown, LaTeX, and CSV for programs."""

from __future__ import annotations

import csv as csvlib
import io
from collections.abc import Iterator

from ...bench.lines import AVERAGE_GAP, Block, Estimate, Line, Summary
from ..markdown import escape, table
from .digits import CONTAMINATED, HEADS, REMARKED, Shown
from .latex import latex
from .layout import about, clean
from .notes import NO_TABLE, heading, told_once

__all__ = ["csv", "latex", "markdown"]

Value = str | float | None


def markdown(summary: Summary) -> str:
    """A heading, one table per setting, and footnotes."""
    parts = [f"## {escape(heading(summary))}"]
    for sheet, footnotes in told_once(summary):
        heads = [*sheet.heads, *(HEADS[key] for key in (*sheet.measures, *sheet.extras))]
        rows = [[*map(escape, line.lead), *(_cell(cell) for cell in line.cells)] for line in sheet.lines]
        listed = [f"- {escape(note)}" for note in footnotes]
        parts += [f"### {escape(about(sheet))}", table(heads, rows), *(["\n".join(listed)] if listed else [])]
    if len(parts) == 1:
        parts += [NO_TABLE, *([escape(clean(summary.experiment.note))] if summary.experiment.note else [])]
    return "\n\n".join(parts) + "\n"


def csv(summary: Summary) -> str:
    """One line per method (of a curve: per epoch), all digits; nothing in it is a formula to a spreadsheet."""
    lines = [dict(_values(summary, block, line)) for block in summary.blocks for line in block.lines]
    written = io.StringIO()
    writer = csvlib.writer(written, lineterminator="\n")
    writer.writerow(dict.fromkeys(column for line in lines for column in line))
    writer.writerows([_safe(value) for value in line.values()] for line in lines)
    return written.getvalue()


def _values(summary: Summary, block: Block, line: Line) -> Iterator[tuple[str, Value]]:
    yield "experiment", summary.experiment.id
    yield from block.where._asdict().items()
    yield from {"request": block.request, "label": line.label, "method": line.method, "few": line.few}.items()
    yield from {"epoch": line.epoch, "seeds": line.seeds, "failed": len(line.failed)}.items()
    for measure in summary.experiment.measures:
        cell = line.cells[measure]
        yield from _interval(measure, cell.measured)
        yield f"{measure}_reported", cell.reported
        yield f"{measure}_reported_sign", (CONTAMINATED * cell.contaminated + REMARKED * cell.remarked) or None
        yield from _interval(f"{measure}_gap", cell.gap)
        yield f"{measure}_mark", line.marks.get(measure)
    if "auc" not in summary.experiment.measures:
        yield from _interval("auc", line.auc)
    yield from _interval(AVERAGE_GAP, line.average_gap)
    yield f"{AVERAGE_GAP}_mark", line.marks.get(AVERAGE_GAP)
    yield from _interval("tow", line.tow)
    yield from {"seconds": line.seconds, "efficiency": line.efficiency, "samples": line.samples}.items()
    yield from ((verdict.lower(), line.verdicts.get(verdict, 0)) for verdict in ("PASS", "FAIL", "INCONCLUSIVE"))
    yield "cause", " ".join(dict.fromkeys(line.failed))
    yield "note", summary.experiment.note


def _interval(name: str, value: Estimate | None) -> Iterator[tuple[str, Value]]:
    half = value.half if value else None
    yield name, value.mean if value else None
    yield f"{name}_low", value.mean - half if value and half is not None else None
    yield f"{name}_high", value.mean + half if value and half is not None else None


def _safe(value: Value) -> Value:
    """Numbers at six decimals; a text that a spreadsheet would take for a formula is led by an apostrophe."""
    if not isinstance(value, str):
        return round(value, 6) if isinstance(value, float) else value
    text = clean(value)
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) else text


def _cell(cell: Shown) -> str:
    mark = {"best": "**%s**", "second": "<ins>%s</ins>", None: "%s"}[cell.mark]
    text = f"{cell.reported}{cell.signs} / " if cell.reported else ""
    text += mark % cell.value + (f" ± {cell.half}" if cell.half else "")
    return text + (f" ({cell.gap}{f' ± {cell.gap_half}' if cell.gap_half else ''})" if cell.gap else "")
