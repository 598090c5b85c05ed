"""The figures of a line of results in digits, whatever the table is written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...audits.evaluation import MEANING
from ...bench.lines import AVERAGE_GAP, DECIMALS, Estimate, Line, Mark
from ..tables import MISSING, count, duration, signed

HEADS = {key: head for key, (head, _) in MEANING.items()} | {
    "auc": "AUC",
    "js": "JS",
    "kl_dr": "KL D_r",
    "kl_df": "KL D_f",
    "spread_dr": "Spread D_r",
    "spread_df": "Spread D_f",
    AVERAGE_GAP: "Avg gap",
    "tow": "ToW",
    "seconds": "Seconds",
    "efficiency": "RTE",
    "samples": "Images read",
    "seeds": "Seeds",
    "audit": "Audit",
}


CONTAMINATED, REMARKED = "§", "‡"


@dataclass(frozen=True)
class Shown:
    """A figure in digits; what there is not is empty."""

    value: str
    half: str = ""  # of the 95 % interval
    gap: str = ""  # to Retrain, signed
    gap_half: str = ""
    reported: str = ""
    signs: str = ""  # what is to be known about the reported figure
    mark: Mark | None = None


def figure(line: Line, measure: str) -> Shown:
    """A measure of the paper's table: measured, its distance to Retrain, and as reported."""
    cell, digits = line.cells[measure], DECIMALS.get(measure, 2)
    value, half = _digits(cell.measured, digits)
    return Shown(
        value,
        half,
        "" if cell.gap is None else signed(cell.gap.mean, digits),
        _digits(cell.gap, digits)[1],
        "" if cell.reported is None else f"{cell.reported:.{digits}f}",
        (CONTAMINATED if cell.contaminated else "") + (REMARKED if cell.remarked else ""),
        line.marks.get(measure),
    )


def extra(line: Line, key: str) -> Shown:
    """What the paper's table does not have: distances in one number, cost, verdicts."""
    if key == AVERAGE_GAP:
        value, half = _digits(line.average_gap, 2)
        return Shown(value, half, mark=line.marks.get(key))
    if key in ("tow", "auc"):
        return Shown(*_digits(line.tow if key == "tow" else line.auc, 3))
    plain = {
        "seconds": duration(line.seconds),
        "efficiency": MISSING if line.efficiency is None else f"{line.efficiency:,.1f}",
        "samples": count(None if line.samples is None else round(line.samples)),
        "audit": _verdicts(line),
        "seeds": str(line.seeds),
    }
    return Shown(plain[key])


def extras(lines: Sequence[Line], measures: Sequence[str]) -> tuple[str, ...]:
    """The further columns in which at least one line has something to tell."""
    alike = len({line.seeds for line in lines}) < 2
    keys = [AVERAGE_GAP, "tow", "auc", "seconds", "efficiency", "samples", "audit", *([] if alike else ["seeds"])]
    return tuple(k for k in keys if k not in measures and any(extra(line, k).value != MISSING for line in lines))


def _digits(value: Estimate | None, decimals: int) -> tuple[str, str]:
    if value is None:
        return MISSING, ""
    return signed(value.mean, decimals).lstrip("+"), "" if value.half is None else f"{value.half:.{decimals}f}"


def _verdicts(line: Line) -> str:
    """How often which verdict; with one seed only the word."""
    if line.seeds == 1:
        return next(iter(line.verdicts), MISSING)
    return ", ".join(f"{often} {verdict}" for verdict, often in line.verdicts.items()) or MISSING
