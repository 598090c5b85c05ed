"""How long methods take, and how many retained records they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....bench.kinds import file_name
from ....bench.lines import YARDSTICKS, Block, Estimate, Line, Summary
from ..digits import HEADS
from .looks import Looks, ends, is_ours, told_apart
from .picture import ACCENT, GREY, Axis, Goal, Look, Marks, Panel, Picture, fold, folded_axis, listed_axis


def runtime_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Bars of seconds, one panel per setting, the fastest on top."""
    names = told_apart([block.where for block in summary.blocks])
    panels = [_bars(block, names[block.where]) for block in summary.blocks if any(line.seconds for line in block.lines)]
    if panels:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-seconds",
            experiment=summary.experiment.id,
            title="Run time",
            words="Seconds of the method alone, evaluation not counted; behind the bar, how many times faster than "
            "Retrain it is. Shorter is cheaper, and says nothing of how well it erases.",
            grid=[panels],
        )


def _bars(block: Block, title: str) -> Panel:
    timed = {line.label: line.seconds for line in block.lines if line.seconds}
    labels = sorted(timed, key=lambda label: timed[label])
    lines = {line.label: line for line in block.lines}
    most = max(timed.values())
    marks = [
        Marks(
            name="", x=[timed[label]], y=[place], bars=True, look=Look(colour=_colour(lines[label])),
            written=[_time(lines[label])], sides=["right"], says=[f"{label}: {timed[label]:,.1f} s"],
        )
        for place, label in enumerate(labels)
    ]  # fmt: skip
    x = Axis(span=(0, 1.45 * most), shown=False, grid=False)  # the numbers stand behind the bars
    return Panel(title=title, marks=marks, x=x, y=listed_axis(labels), rows=len(labels))


def _colour(line: Line) -> str:
    return ACCENT if is_ours(line.method) else GREY


def _time(line: Line) -> str:
    seconds = line.seconds or 0.0
    text = f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
    faster = line.efficiency if line.method not in YARDSTICKS else None
    return text + (f"  {faster:.0f}×" if faster and faster >= 10 else f"  {faster:.1f}×" if faster else "")


def budget_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Distance to Retrain, and what stays, over the number of retained records that a method may read."""
    names = told_apart([block.where for block in summary.blocks])
    blocks = [block for block in summary.blocks if len(_budgets(block)) > 1]
    if not blocks:
        return
    rows = [[_distances(block, looks, names[block.where]) for block in blocks]]
    rows += [[_kept(block, looks, names[block.where]) for block in blocks]]
    yield Picture(
        name=f"{file_name(summary.experiment.id)}-budget",
        experiment=summary.experiment.id,
        title="How many retained records are needed",
        words="From left to right a method may read more of the records that stay. Above: average points from "
        "Retrain, lower is better. Below: test accuracy on what stays, the level line is Retrain’s. Upright lines are "
        "95 % intervals over seeds.",
        grid=rows,
        legend=len({line.method for block in blocks for line in block.lines} - set(YARDSTICKS)) > 1,
    )


def _budgets(block: Block) -> list[int | str]:
    """The numbers of records that were tried; `all` of them last."""
    found = {line.few for line in block.lines if line.method not in YARDSTICKS and line.few is not None}
    return sorted(found, key=lambda few: (few == "all", few if isinstance(few, int) else 0))


def _distances(block: Block, looks: Looks, title: str) -> Panel:
    values = [end for line in block.lines if (gap := line.average_gap) for end in ends(gap, least=0.0)]
    marks = _per_method(block, lambda line: line.average_gap, looks, fold)
    return Panel(title=title, marks=marks, x=_steps(block), y=folded_axis("points from Retrain", values))


def _kept(block: Block, looks: Looks, title: str) -> Panel:
    key = next(key for key in ("ta_dr", "ta", "acc_dr", *block.measures) if key in block.measures)
    values = {line.method: value for line in block.lines if (value := line.cells[key].measured)}
    goals = [Goal(name="Retrain", at=values["retrain"].mean, along="y")] if "retrain" in values else []
    marks = _per_method(block, lambda line: line.cells[key].measured, looks, float)
    return Panel(title=title, marks=marks, x=_steps(block), y=Axis(title=f"{HEADS[key]}, percent"), goals=goals)


def _per_method(
    block: Block, figure: Callable[[Line], Estimate | None], looks: Looks, scale: Callable[[float], float]
) -> list[Marks]:
    """One line for every method, over the budgets."""
    places = {few: place for place, few in enumerate(_budgets(block))}
    found = [
        (line, places[line.few], value)
        for line in block.lines
        if line.few is not None and line.method not in YARDSTICKS and (value := figure(line))
    ]
    return [
        _over_budgets(sorted((own for own in found if own[0].method == method), key=lambda own: own[1]), looks, scale)
        for method in dict.fromkeys(line.method for line, _, _ in found)
    ]


def _over_budgets(found: Sequence[tuple[Line, int, Estimate]], looks: Looks, scale: Callable[[float], float]) -> Marks:
    reach = [ends(value, least=0.0) for _, _, value in found]
    return Marks(
        name=found[0][0].label.removesuffix(str(found[0][0].few)).rstrip(", "),
        x=[place for _, place, _ in found],
        y=[scale(value.mean) for _, _, value in found],
        low=[scale(low) for low, _ in reach],
        high=[scale(high) for _, high in reach],
        along="y",
        look=looks[found[0][0].label],
        says=[f"{line.label}: {value.mean:.2f}" for line, _, value in found],
    )


def _steps(block: Block) -> Axis:
    words = [f"{few:,}" if isinstance(few, int) else few for few in _budgets(block)]
    return Axis(title="retained records", ticks=dict(enumerate(words)), span=(-0.3, len(words) - 0.7), grid=False)
