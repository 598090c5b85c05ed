"""What happens while a method works: epoch by epoch, and as a way through the plane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ....bench.kinds import file_name
from ....bench.lines import YARDSTICKS, Block, Line, Summary
from ..digits import HEADS
from .looks import Looks, ends, told_apart
from .picture import ACCENT, SECOND, Axis, Look, Marks, Panel, Picture

PERCENT = Axis(title="percent", span=(-3, 103), ticks={0: "0", 25: "25", 50: "50", 75: "75", 100: "100"})
STAYS, GOES = ("ta_dr", "ta", "acc_dr"), ("ta_df", "acc_df")
LINES = {
    "ta_dr": Look(colour=ACCENT, marker="o", line="-"),
    "ta": Look(colour=ACCENT, marker="o", line="-"),
    "acc_dr": Look(colour=ACCENT, marker="D", line=":"),
    "ta_df": Look(colour=SECOND, marker="s", line="--"),
    "acc_df": Look(colour=SECOND, marker="^", line=":"),
}


def curve_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Variants of one method epoch by epoch: settings beside each other, variants below each other."""
    labels = list(dict.fromkeys(line.label for block in summary.blocks for line in _moving(block)))
    if not labels:
        return
    names = told_apart([block.where for block in summary.blocks])
    grid = [[_curve(block, label, names[block.where]) for block in summary.blocks] for label in labels]
    yield Picture(
        name=f"{file_name(summary.experiment.id)}-curves",
        experiment=summary.experiment.id,
        title="Epoch by epoch",
        words="Accuracy in percent, over the epochs of the method; 0 is the network before. What stays (solid) should "
        "return to where it began; what is to be forgotten (dashed) should go where Retrain is, for whole classes to "
        "nought. Upright lines are 95 % intervals over seeds.",
        grid=grid,
        legend=True,
    )


def _moving(block: Block) -> list[Line]:
    return [line for line in block.lines if line.epoch is not None and line.method not in YARDSTICKS]


def _curve(block: Block, label: str, where: str) -> Panel:
    lines = [line for line in _moving(block) if line.label == label]
    marks = [_over_epochs(lines, key) for key in block.measures if key in LINES]
    return Panel(title=f"{label}, {where}", marks=marks, x=Axis(title="epochs"), y=PERCENT)


def _over_epochs(lines: Sequence[Line], key: str) -> Marks:
    found = [(line.epoch or 0.0, value) for line in lines if (value := line.cells[key].measured)]
    reach = [ends(value, least=0.0) for _, value in found]
    return Marks(
        name=HEADS[key],
        x=[epoch for epoch, _ in found],
        y=[value.mean for _, value in found],
        low=[low for low, _ in reach],
        high=[high for _, high in reach],
        along="y",
        look=LINES[key],
        says=[f"{HEADS[key]} after {epoch:g} epochs: {value.mean:.2f} %" for epoch, value in found],
    )


def trajectory_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """The way of every method from the original, in the plane of what is forgotten and what stays."""
    names = told_apart([block.where for block in summary.blocks])
    panels = [panel for block in summary.blocks if (panel := _plane(block, looks, names[block.where]))]
    if panels:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-trajectory",
            experiment=summary.experiment.id,
            title="Forgetting against utility",
            words="Every method starts at the original (ring) and should end at Retrain (star). Left is less accuracy "
            "on what is to be forgotten, down is less on what stays; the small marks are checks on the way, the large "
            "one is the end.",
            grid=[panels],
            legend=True,
            height=4.2,
        )


def _plane(block: Block, looks: Looks, title: str) -> Panel | None:
    goes, stays = (next((key for key in keys if key in block.measures), None) for keys in (GOES, STAYS))
    if goes is None or stays is None:
        return None
    marks = list[Marks]()
    last = sorted(block.lines, key=lambda line: line.method in YARDSTICKS)  # drawn above all ways
    for label in dict.fromkeys(line.label for line in last):
        way = [
            (line.epoch or 0.0, there.mean, here.mean)
            for line in block.lines
            if line.label == label and (there := line.cells[goes].measured) and (here := line.cells[stays].measured)
        ]
        marks += _way(label, way, looks[label])
    x, y = Axis(title=f"{HEADS[goes]}, percent"), Axis(title=f"{HEADS[stays]}, percent")
    return Panel(title=title, marks=marks, x=x, y=y) if marks else None


def _way(label: str, way: Sequence[tuple[float, float, float]], look: Look) -> Iterator[Marks]:
    says = [f"{label} after {epoch:g} epochs: {there:.2f} %, {here:.2f} %" for epoch, there, here in way]
    x, y = [there for _, there, _ in way], [here for _, _, here in way]
    if len(way) > 1:
        passing = replace(look, size=3.0)
        yield Marks(name="", x=x, y=y, look=passing, says=says)
    if way:
        end = look if len(way) == 1 else replace(look, size=8.0)
        yield Marks(name=label, x=x[-1:], y=y[-1:], look=end, says=says[-1:])
