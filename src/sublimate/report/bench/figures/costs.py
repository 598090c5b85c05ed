"""How long methods take, and how many retained records they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ....bench.kinds import file_name
from ....bench.lines import YARDSTICKS, Block, Estimate, Line, Summary
from ..digits import HEADS
from .looks import BROKEN, Looks, ends, is_ours, listed_name, told_apart
from .picture import ACCENT, GREY, Axis, Goal, Look, Marks, Panel, Picture, fold, folded_axis, listed_axis

LANES = 0.24  # of the way between two budgets, over which the methods are spread: equal figures do not cover each other


def runtime_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Bars of seconds, one panel per setting, the fastest on top, failed ones at the bottom."""
    names = told_apart([block.where for block in summary.blocks])
    panels = [_bars(block, names[block.where]) for block in summary.blocks if any(line.seconds for line in block.lines)]
    if panels:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-seconds",
            experiment=summary.experiment.id,
            title="Run time",
            words="Seconds of the method alone, evaluation not counted; behind the bar, how many times faster than "
            "Retrain it is. Shorter is cheaper, and says nothing of how well it erases. Methods that failed are at the "
            "bottom: how soon they broke off is no speed.",
            grid=[panels],
        )


def _bars(block: Block, title: str) -> Panel:
    timed = [(line.seconds, line) for line in block.lines if line.seconds]
    timed.sort(key=lambda own: (bool(own[1].failed), own[0]))
    names = [listed_name(line) for _, line in timed]
    marks = [
        Marks(
            name="", x=[seconds], y=[place], bars=True, look=BROKEN if line.failed else Look(colour=_colour(line)),
            written=[_time(line)], sides=["right"], says=[f"{names[place]}: {seconds:,.1f} s"],
        )
        for place, (seconds, line) in enumerate(timed)
    ]  # fmt: skip
    most = max(seconds for seconds, _ in timed)
    x = Axis(span=(0, 1.45 * most), shown=False, grid=False)  # the numbers stand behind the bars
    return Panel(title=title, marks=marks, x=x, y=listed_axis(names), rows=len(names))


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
        "95 % intervals over seeds, crosses are runs that failed. Methods stand a little beside each other, only to be "
        "seen all.",
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
    """One line for every method, over the budgets; runs that failed are no part of it, and have their name beside."""
    places = {few: place for place, few in enumerate(_budgets(block))}
    methods = [method for method in dict.fromkeys(line.method for line in block.lines) if method not in YARDSTICKS]
    found = [
        (line, places[line.few] + LANES * ((methods.index(line.method) + 0.5) / len(methods) - 0.5), value)
        for line in block.lines
        if line.few is not None and line.method in methods and (value := figure(line))
    ]
    found.sort(key=lambda one: one[1])
    firsts = {line.method: line for line, _, _ in reversed(found)}
    joined = [
        _over_budgets(own, scale, _variant(firsts[method]), looks[firsts[method].label])
        for method in methods
        if (own := [one for one in found if one[0].method == method and not one[0].failed])
    ]
    if not (broken := [one for one in found if one[0].failed]):
        return joined
    crosses = _over_budgets(broken, scale, "", BROKEN)
    names = [_variant(line) for line, _, _ in broken]
    return [*joined, replace(crosses, written=names, sides=["below right"] * len(names))]


def _variant(line: Line) -> str:
    """The label without its budget."""
    return line.label.removesuffix(str(line.few)).rstrip(", ")


def _over_budgets(
    found: Sequence[tuple[Line, float, Estimate]], scale: Callable[[float], float], name: str, look: Look
) -> Marks:
    reach = [ends(value, least=0.0) for _, _, value in found]
    return Marks(
        name=name,
        x=[place for _, place, _ in found],
        y=[scale(value.mean) for _, _, value in found],
        low=[scale(low) for low, _ in reach],
        high=[scale(high) for _, high in reach],
        along="y",
        look=look,
        says=[f"{listed_name(line)}: {value.mean:.2f}" for line, _, value in found],
    )


def _steps(block: Block) -> Axis:
    words = [f"{few:,}" if isinstance(few, int) else few for few in _budgets(block)]
    return Axis(title="retained records", ticks=dict(enumerate(words)), span=(-0.3, len(words) - 0.7), grid=False)
