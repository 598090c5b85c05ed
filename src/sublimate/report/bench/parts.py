"""The parts of a page of results as its template shows them: everything in finished figures and words."""

from __future__ import annotations

import math
from typing import Any

from ...bench.lines import Block, Line, Summary
from ..page import in_words
from ..tables import MISSING
from .digits import HEADS, Shown
from .layout import FACTS, Sheet, clean, sheets
from .notes import limits, papers
from .words import cost, distance, harm, ranking, story

Part = dict[str, Any]
FIRST = ("audit", "average_gap")  # what a reader looks for first
FURTHER = ("tow", "auc", "efficiency", "samples")  # shown when a reader asks for all columns


def card(summary: Summary, block: Block) -> Part:
    """One setting in short: the nearest method, its verdict, its cost."""
    best = ranking(block)[0]
    where = block.where
    return {
        "title": summary.experiment.title,
        "where": " · ".join((where.scenario, where.data, where.model)),
        "label": best.label,
        "distance": distance(best),
        "seeds": best.seeds,
        "verdicts": best.verdicts,
        "harm": harm(best),
        "cost": cost(best),
        "story": story(block),
    }


def tables(summary: Summary) -> list[Part]:
    """The tables of an experiment: columns with their names, lines with all that their cells tell."""
    return [_table(sheet, summary) for sheet in sheets(summary)]


def _table(sheet: Sheet, summary: Summary) -> Part:
    lines = [line for block in sheet.blocks for line in block.lines]
    given = (*sheet.measures, *sheet.extras)
    keys = sorted(given, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST))
    further = set(FURTHER) & set(sheet.extras)
    rows, facts = list[Part](), dict[str, str]()
    for line, drawn in zip(lines, sheet.lines, strict=True):
        lead = dict(zip(sheet.heads, drawn.lead, strict=True))
        facts |= {head: text for head, text in lead.items() if head.lower() in FACTS and text}
        lead |= facts | ({"Approach": clean(line.label)} if "Approach" in lead else {})
        cells = dict(zip(given, drawn.cells, strict=True))
        own = {"kind": _kind(line), "failed": len(line.failed), "seeds": line.seeds}
        rows.append(
            own
            | {
                "lead": list(lead.values()),
                "cells": [_cell(key, cells[key], line) | {"further": key in further} for key in keys],
            }
        )
    return {
        "about": _about(sheet),
        "title": f"{summary.experiment.title}: {_about(sheet)}",
        "paper": papers(summary.experiment, sheet.blocks),
        "notes": [clean(text) for text in limits(sheet)],
        "asked": list(dict.fromkeys(in_words(block.request) for block in sheet.blocks)),
        "heads": sheet.heads,
        "keys": [(HEADS[key], key == "audit", key in further) for key in keys],
        "rows": rows,
        "mixed": len({row["kind"] for row in rows}) > 1,
        "reported": any(cell["shown"].reported for row in rows for cell in row["cells"]),
        "compared": any(cell["gap"] for row in rows for cell in row["cells"]),
    }


def _about(sheet: Sheet) -> str:
    """What the lines of a table have in common."""
    common = [fact for fact in FACTS if fact.capitalize() not in sheet.heads]
    return clean(" · ".join(getattr(sheet.blocks[0].where, fact) for fact in common))


def _kind(line: Line) -> str:
    return {"original": "original", "retrain": "reference"}.get(line.method, "erased")


def _cell(key: str, shown: Shown, line: Line) -> Part:
    return {
        "shown": shown,
        "sort": f"{' '.join(line.verdicts)} {shown.value}"
        if key == "audit" and line.verdicts
        else sortable(shown.value),
        "verdicts": line.verdicts if key == "audit" else {},
        "words": key == "audit",
        "gap": shown.gap.replace("-", "−"),
    }


def sortable(text: str) -> str:
    """What a cell is sorted by: a plain number where it is one, nothing where it is empty.

    >>> sortable("12,345"), sortable("3 FAIL"), sortable("–")
    ('12345', '3 FAIL', '')
    """
    plain = text.replace(",", "").replace("−", "-")
    try:
        return plain if math.isfinite(float(plain)) else ""
    except ValueError:
        return "" if text == MISSING else text
