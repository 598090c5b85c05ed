"""Rows over seeds, line by line: means with intervals, gaps to Retrain, cost, verdicts, and which line is best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TypeVar

from .carrying import carried
from .kinds import EDITIONS, Measure
from .lines import AVERAGE_GAP, DECIMALS, YARDSTICKS, Block, Cell, Estimate, Line, Mark, Summary, Where, estimate
from .results import Row, Timing
from .schema import Experiment

K_ = TypeVar("K_", bound=Hashable)
Seconds = Mapping[int, float]  # by seed
__all__ = ["Block", "Cell", "Estimate", "Line", "Summary", "Where", "summarise"]


def summarise(rows: Iterable[Row], timings: Iterable[Timing], experiment: Experiment) -> Summary:
    """The rows of one experiment by setting and label; the order of rows and timings does not matter."""
    mine = sorted((row for row in rows if row.experiment == experiment.id), key=lambda row: row.seed)
    clocks = [timing for timing in timings if timing.experiment == experiment.id]
    settings = [
        Where(edition, setting.scenario, case.data, case.model, case.views)
        for edition in EDITIONS
        for setting in experiment.settings
        if (case := setting.case(edition))
    ]
    ran = sorted({_where(row) for row in mine}, key=_declared(settings))
    return Summary(
        experiment=experiment,
        blocks=tuple(_block(at, carried(row for row in mine if _where(row) == at), clocks, experiment) for at in ran),
        threads=tuple(sorted({timing.threads for timing in clocks})),
        hosts=len({timing.host for timing in clocks}),
        devices=tuple(sorted({timing.device for timing in clocks if timing.device})),
    )


def _block(where: Where, rows: list[Row], clocks: list[Timing], experiment: Experiment) -> Block:
    seconds = {row.label: _seconds(row, clocks) for row in rows}
    retrain = next((seconds[row.label] for row in rows if row.method == "retrain"), {})
    order = _declared([method.label for method in experiment.methods])
    keys = sorted({(row.label, row.epoch) for row in rows}, key=lambda key: (order(key[0]), key[1] or 0.0))
    lines = [
        _line([row for row in rows if (row.label, row.epoch) == key], experiment, seconds[key[0]], retrain)
        for key in keys
    ]
    used = [m for m in experiment.measures if any(_filled(line.cells[m]) for line in lines)]
    ranked = _ranked(lines, used) if experiment.kind == "scores" else lines
    of = rows[0].n
    chosen_on = of["test"] - of["control"] if {"test", "control"} <= set(of) else 0  # of the test set, all but control
    return Block(where=where, request=rows[0].request, measures=tuple(used), lines=tuple(ranked), chosen_on=chosen_on)


def _line(rows: list[Row], experiment: Experiment, seconds: Seconds, retrain: Seconds) -> Line:
    first, goal = rows[0], rows[0].method == "retrain"
    timed = seconds if experiment.kind == "scores" else {}  # else they are not those of what the line shows
    failed = tuple(sorted(row.failed for row in rows if row.failed is not None))
    compared = first.method != "original" and not failed  # who broke off is not fast
    judged = Counter(row.audit.verdict for row in rows if row.audit)
    return Line(
        label=first.label,
        method=first.method,
        few=first.few,
        options=first.options,
        epoch=first.epoch,
        seeds=len(rows),
        failed=failed,
        cells={measure: _cell(rows, measure, experiment) for measure in experiment.measures},
        auc=_over(rows, lambda row: row.figures.get("auc")),
        average_gap=None if goal else _over(rows, lambda row: row.average_gap),
        tow=None if goal else _over(rows, lambda row: row.tow),
        seconds=median(timed.values()) if timed else None,
        efficiency=_efficiency(timed, retrain) if compared else None,
        samples=median(read) if (read := _values(rows, lambda row: row.figures.get("samples"))) else None,
        verdicts={verdict: judged[verdict] for verdict in ("PASS", "FAIL", "INCONCLUSIVE") if judged[verdict]},
        reasons=next((row.audit.reasons for row in rows if row.audit), ()),
    )


def _cell(rows: list[Row], measure: Measure, experiment: Experiment) -> Cell:
    label, where = rows[0].label, _where(rows[0])._asdict()
    gap = None if rows[0].method == "retrain" else _over(rows, lambda row: (row.gap or {}).get(measure))
    measured = _over(rows, lambda row: row.figures.get(measure))
    reported = experiment.reported(label, **where).get(measure)
    if reported is None:
        return Cell(measured, gap, None)
    keys = experiment.keys(**where)
    remarked = any(remark.concerns(label, measure, keys) for remark in experiment.remarks)
    return Cell(measured, gap, reported, any(key in experiment.contaminated for key in keys), remarked)


def _ranked(lines: list[Line], measures: Sequence[str]) -> list[Line]:
    """The lines with the smallest and the second smallest distance to Retrain marked, by the digits that are shown."""
    marks: list[dict[str, Mark]] = [{} for _ in lines]
    for measure in (*measures, AVERAGE_GAP):
        shown = [_distance(line, measure) for line in lines]
        best = sorted({distance for distance in shown if distance is not None})
        names: dict[float | None, Mark] = dict(zip(best, ("best", "second"), strict=False))
        for mark, distance in zip(marks, shown, strict=True):
            if distance in names:
                mark[measure] = names[distance]
    return [replace(line, marks=mark) for line, mark in zip(lines, marks, strict=True)]


def _distance(line: Line, measure: str) -> float | None:
    gap = line.average_gap if measure == AVERAGE_GAP else line.cells[measure].gap
    eligible = line.method not in YARDSTICKS and not line.failed
    return abs(round(gap.mean, DECIMALS.get(measure, 2))) if gap and eligible else None


def _seconds(row: Row, clocks: list[Timing]) -> Seconds:
    return {t.seed: t.seconds for t in clocks if t.label == row.label and _where(t) == _where(row)}


def _efficiency(own: Seconds, retrain: Seconds) -> float | None:
    """How many times faster than Retrain of the same seed: seeds may have run on machines of other speeds."""
    ratios = [retrain[seed] / seconds for seed, seconds in own.items() if seconds and seed in retrain]
    return median(ratios) if ratios else None


def _over(rows: list[Row], figure: Callable[[Row], float | None]) -> Estimate | None:
    return estimate(_values(rows, figure))


def _values(rows: list[Row], figure: Callable[[Row], float | None]) -> list[float]:
    return [value for row in rows if (value := figure(row)) is not None]


def _filled(cell: Cell) -> bool:
    return cell.measured is not None or cell.reported is not None


def _where(one: Row | Timing) -> Where:
    return Where(one.edition, one.scenario, one.data, one.model, one.views)


def _declared(known: Sequence[K_]) -> Callable[[K_], tuple[int, K_]]:
    """The order of the file; what the file does not know comes last, by name."""
    places = {name: place for place, name in enumerate(known)}
    return lambda name: (places.get(name, len(places)), name)
