"""How far every method is from Retrain, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ....bench.kinds import file_name, safe_name
from ....bench.lines import YARDSTICKS, Block, Estimate, Line, Summary
from ..digits import HEADS
from .labels import beside
from .looks import BROKEN, Looks, ends, family, listed_name, told_apart
from .picture import GREY, Axis, Goal, Look, Marks, Panel, Picture, fold, folded_axis, listed_axis, log_axis

AVERAGE = "average_gap"
NARROW = (3.2, 2.4)  # inches for which names are placed: a wider page only gives them more room


def gap_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Per setting a list of methods, the nearest on top, and per measure how far each is from Retrain."""
    names = told_apart([block.where for block in summary.blocks])
    for block in summary.blocks:
        lines = sorted((line for line in block.lines if line.average_gap), key=_distance)
        measures = [key for key in block.measures if any(line.cells[key].gap for line in lines)]
        if not lines or not measures:
            continue
        tail = names[block.where] if len(names) > 1 else ""
        yield Picture(
            name="-".join(filter(None, [file_name(summary.experiment.id), "gaps", safe_name(tail)])),
            experiment=summary.experiment.id,
            title=f"Distance to Retrain{tail and ': '}{tail}",
            words="Each mark is a mean over seeds, in percentage points; a line through it is the 95 % interval, the "
            "upright line is Retrain. Left of it a figure is lower than Retrain’s, right of it higher: either is a "
            "difference. The nearest method on average is on top. The scale is fine near nought, coarse far off. In "
            "colour: Siamese unlearning; the ring: the original, untouched; a cross: a run that failed.",
            grid=[[_gaps(lines, key) for key in (AVERAGE, *measures)]],
        )


def _distance(line: Line) -> float:
    return line.average_gap.mean if line.average_gap else 0.0


def _gaps(lines: Sequence[Line], key: str) -> Panel:
    values = [line.average_gap if key == AVERAGE else line.cells[key].gap for line in lines]
    reach = [ends(value, least=0.0 if key == AVERAGE else -100.0) if value else (0.0, 0.0) for value in values]
    return Panel(
        title="average" if key == AVERAGE else HEADS[key],
        marks=[
            _alike(
                [
                    (n, line, value, reach[n])
                    for n, (line, value) in enumerate(zip(lines, values, strict=True))
                    if value and family(line) == look
                ],
                look,
            )
            for look in dict.fromkeys(map(family, lines))
        ],
        x=folded_axis("points", [end for pair in reach for end in pair]),
        y=listed_axis([listed_name(line) for line in lines]),
        goals=[Goal(name="", at=0.0)],
        rows=len(lines),
    )


def _alike(found: Sequence[tuple[int, Line, Estimate, tuple[float, float]]], look: Look) -> Marks:
    return Marks(
        name="",
        x=[fold(value.mean) for _, _, value, _ in found],
        y=[place for place, _, _, _ in found],
        low=[fold(low) for _, _, _, (low, _) in found],
        high=[fold(high) for _, _, _, (_, high) in found],
        look=look,
        says=[
            f"{line.label}: {value.mean:.2f} points" + (f" ({low:.2f} to {high:.2f})" if value.half else "")
            for _, line, value, (low, high) in found
        ],
    )


def cost_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Per setting, seconds of every method against its average distance to Retrain."""
    names = told_apart([block.where for block in summary.blocks])
    panels = [panel for block in summary.blocks if (panel := _cost(block, looks, names[block.where]))]
    if panels:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-cost",
            experiment=summary.experiment.id,
            title="Cost against distance",
            words="Down is nearer to Retrain, left is faster. The thin line joins the methods that no other beats in "
            "both, those that failed (crosses) left out; the upright line is the time of Retrain itself. Seconds are "
            "of the method alone, on a logarithmic scale.",
            grid=[panels],
            height=3.0,
        )


def _cost(block: Block, looks: Looks, title: str) -> Panel | None:
    timed = [line for line in block.lines if line.average_gap and line.seconds and line.method not in YARDSTICKS]
    if not timed:
        return None
    goals = [
        Goal(name=line.label, at=line.seconds) for line in block.lines if line.method == "retrain" and line.seconds
    ]
    x = log_axis("seconds", [_dot(line)[0] for line in timed] + [goal.at for goal in goals], room=1.8)
    x = replace(x, span=(x.span[0], 1.5 * x.span[1])) if x.span else x  # names mostly stand on the right
    y = folded_axis("points from Retrain, on average", [_dot(line)[1] for line in timed])
    front = _unbeaten([_dot(line) for line in timed if not line.failed])
    joined = Look(colour=GREY, marker="", line="-")
    between = Marks(name="", x=[time for time, _ in front], y=[fold(gap) for _, gap in front], look=joined)
    return Panel(title=title, marks=[between, *_dots(timed, looks, x, y, goals)], x=x, y=y, goals=goals)


def _dot(line: Line) -> tuple[float, float]:
    return line.seconds or 0.0, _distance(line)


def _dots(lines: Sequence[Line], looks: Looks, x: Axis, y: Axis, goals: Sequence[Goal]) -> Iterator[Marks]:
    sides = beside({listed_name(line): (_dot(line)[0], fold(_dot(line)[1])) for line in lines}, x, y, NARROW, goals)
    for line in lines:
        (time, gap), name = _dot(line), listed_name(line)
        yield Marks(
            name="",
            x=[time],
            y=[fold(gap)],
            look=BROKEN if line.failed else looks[line.label],
            says=[f"{name}: {time:,.1f} s, {gap:.2f} points"],
            written=[name],
            sides=[sides[name]],
        )


def _unbeaten(dots: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that no other is below in both.

    >>> _unbeaten([(1.0, 9.0), (2.0, 9.5), (3.0, 1.0)])
    [(1.0, 9.0), (3.0, 1.0)]
    """
    front = list[tuple[float, float]]()
    for time, gap in sorted(dots):
        if not front or gap < front[-1][1]:
            front.append((time, gap))
    return front
