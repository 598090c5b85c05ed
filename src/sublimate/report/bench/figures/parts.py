"""Ablations: terms of the loss, kinds of views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ....bench.kinds import file_name
from ....bench.lines import YARDSTICKS, Block, Estimate, Line, Summary
from ..digits import HEADS
from .looks import BROKEN, Looks, ends, listed_name, told_apart
from .picture import (
    ACCENT,
    COLOURS,
    GREY,
    SECOND,
    Axis,
    Goal,
    Look,
    Marks,
    Panel,
    Picture,
    fold,
    folded_axis,
    listed_axis,
)

MEASURES = {
    "acc_dr": Look(colour=ACCENT, marker="o"),
    "acc_df": Look(colour=SECOND, marker="s"),
    "ta_dr": Look(colour=ACCENT, marker="D", filled=False),
    "ta": Look(colour=ACCENT, marker=">", filled=False),
    "ta_df": Look(colour=SECOND, marker="^", filled=False),
    "mia": Look(colour=COLOURS[1], marker="v"),
}


def terms_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Which terms of the loss are used, and how far from Retrain that leads; one panel per scenario."""
    names = told_apart([block.where for block in summary.blocks])
    panels = [panel for block in summary.blocks if (panel := _terms(block, names[block.where]))]
    if panels:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-terms",
            experiment=summary.experiment.id,
            title="What each term does",
            words="Each line is a choice of terms (KVC: vaporization and concentration, CE: cross entropy, ALP: "
            "adaptive label permutation), each mark one figure. The upright line is Retrain: the nearer all marks of a "
            "line are to it, the better the choice. Crosses are runs that failed.",
            grid=[panels],
            legend=True,
        )


def _terms(block: Block, title: str) -> Panel | None:
    lines = [line for line in block.lines if line.method not in YARDSTICKS and line.average_gap]
    keys = [key for key in block.measures if key in MEASURES]
    if not lines or not keys:
        return None
    marks, values = list[Marks](), list[float]()
    for nth, key in enumerate(keys):
        lane = ((nth + 0.5) / len(keys) - 0.5) * 0.7
        found = [(place + lane, line, gap) for place, line in enumerate(lines) if (gap := line.cells[key].gap)]
        values += [end for _, _, gap in found for end in ends(gap)]
        marks.append(_gaps(key, [one for one in found if not one[1].failed], HEADS[key], MEASURES[key]))
        if broken := [one for one in found if one[1].failed]:
            marks.append(_gaps(key, broken, "", BROKEN))
    y = listed_axis([listed_name(line) for line in lines])
    x = folded_axis("points from Retrain", values)
    return Panel(title=title, marks=marks, x=x, y=y, goals=[Goal(name="", at=0.0)], rows=2 * len(lines))


def _gaps(key: str, found: Sequence[tuple[float, Line, Estimate]], name: str, look: Look) -> Marks:
    reach = [ends(gap) for _, _, gap in found]
    return Marks(
        name=name,
        look=look,
        x=[fold(gap.mean) for _, _, gap in found],
        y=[place for place, _, _ in found],
        low=[fold(low) for low, _ in reach],
        high=[fold(high) for _, high in reach],
        says=[f"{listed_name(line)}: {HEADS[key]} {gap.mean:+.2f} points" for _, line, gap in found],
    )


def views_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Figures before and after, for every kind of views."""
    measures = list(dict.fromkeys(key for block in summary.blocks for key in block.measures))
    if measures and len(summary.blocks) > 1:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-before-after",
            experiment=summary.experiment.id,
            title="Before and after, by kind of views",
            words="In percent: the ring is the original, the star Retrain, the filled marks are after erasing; the "
            "marks of one line are a little apart in height, only to be seen all. Where those of one kind lie under "
            "each other in a panel, the kind of views does not matter.",
            grid=[[_before_after(summary.blocks, key, looks) for key in measures]],
            legend=True,
        )


def _before_after(blocks: Sequence[Block], key: str, looks: Looks) -> Panel:
    names = list(told_apart([block.where for block in blocks]).values())
    labels = dict.fromkeys(line.label for block in blocks for line in block.lines)
    columns = list[tuple[str, Sequence[float | None], Look]]()
    for label in labels:
        lines = [next((line for line in block.lines if line.label == label), None) for block in blocks]
        sound = [line if line and not line.failed else None for line in lines]
        broken = [line if line and line.failed else None for line in lines]
        columns.append((label, [_value(line, key) for line in sound], replace(looks[label], line="")))
        if any(broken):
            columns.append((f"{label} (failed)", [_value(line, key) for line in broken], BROKEN))
    return joined(HEADS[key], names, columns, Axis(title="percent", span=(-6, 106)), spread=0.6)


def _value(line: Line | None, key: str) -> float | None:
    return value.mean if line and (value := line.cells[key].measured) else None


def joined(
    title: str,
    names: Sequence[str],
    columns: Sequence[tuple[str, Sequence[float | None], Look]],
    x: Axis,
    spread: float = 0.0,
) -> Panel:
    """A list with several marks on every line, joined by a thin line.

    `spread` is how much of a line's height the marks are spread over, so that equal figures do not cover each other.
    """
    marks = []
    for place in range(len(names)):
        found = [value for _, values, _ in columns if (value := values[place]) is not None]
        reach = [min(found), max(found)] if found else []
        marks.append(Marks(name="", x=reach, y=[place] * len(reach), look=Look(colour=GREY, marker="", line="-")))
    for nth, (word, values, look) in enumerate(columns):
        lane = spread * ((nth + 0.5) / len(columns) - 0.5)
        own = [(place, value) for place, value in enumerate(values) if value is not None]
        says = [f"{names[place]}, {word}: {value:.4g}" for place, value in own]
        marks.append(
            Marks(name=word, x=[value for _, value in own], y=[place + lane for place, _ in own], look=look, says=says)
        )
    rows = len(names) if not spread else 2 * len(names)
    return Panel(title=title, marks=marks, x=x, y=listed_axis(names), rows=rows)
