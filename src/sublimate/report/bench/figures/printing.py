"""Pictures for print: matplotlib figures, of which nothing global is changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .axes import INK, NORMAL, SMALL, SOFT, any_script, dress, printable
from .labels import SIDES
from .picture import SEPARATOR, Goal, Look, Marks, Panel, Picture, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, AROUND = 7.2, 0.185, 0.62  # inches: of a figure, of a line in a list, around a panel


def printed(picture: Picture) -> Figure:
    """One picture on paper."""
    from matplotlib.figure import Figure

    heights = [max(_inches(panel, picture) for panel in row) for row in picture.grid]
    columns = max(len(row) for row in picture.grid)
    width = WIDTH if columns > 1 or picture.legend else 0.6 * WIDTH
    told = [printable(line, len(line)) for line in broken(picture.about, round(19 * width))]
    height = sum(heights) + 0.3 * picture.legend + (0.15 + 0.15 * len(told) if told else 0)
    figure = Figure(figsize=(width, height), layout="constrained")
    if told:
        figure.supxlabel("\n".join(told), x=0.01, ha="left", fontsize=SMALL, color=SOFT)
    grid = figure.subplots(len(picture.grid), columns, squeeze=False, height_ratios=heights)
    for row, axes in zip(picture.grid, grid, strict=True):
        for panel, ax in zip(row, axes, strict=False):
            ax.set_title(printable(panel.title, 110 // columns), fontsize=NORMAL, color=INK, loc="left", pad=5)
            _fill(ax, panel)
            dress(ax, panel, named=panel is row[0] or panel.y != row[0].y)
        for ax in axes[len(row) :]:
            ax.set_visible(False)
    if picture.legend:
        _legend(figure, picture)
    with any_script():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # found once, kept for every format
    return figure


def broken(about: str, room: int) -> list[str]:
    """On as many lines as it needs, broken between its parts.

    >>> broken("Forgetting a tenth · cifar10 · 3 seeds", 30)
    ['Forgetting a tenth · cifar10', '3 seeds']
    """
    lines = list[str]()
    for part in about.split(SEPARATOR) if about else []:
        longer = SEPARATOR.join([*lines[-1:], part])
        lines[-1:] = [longer] if lines and len(longer) <= room else [*lines[-1:], short(part, room)]
    return lines


def _inches(panel: Panel, picture: Picture) -> float:
    return AROUND + ROW * max(panel.rows, 3) if panel.rows else picture.height


def _fill(ax: Axes, panel: Panel) -> None:
    for goal in panel.goals:
        _goal(ax, goal)
    for marks in panel.marks:
        if marks.bars:
            ax.barh(marks.y, marks.x, height=0.62, color=marks.look.colour, zorder=3)
        else:
            _dots(ax, marks)
        for x, y, text, side in zip(marks.x, marks.y, marks.written, marks.sides, strict=False):
            ax.annotate(printable(text), (x, y), **_beside(side), fontsize=SMALL, color=INK, zorder=4)


def _beside(side: str) -> dict[str, Any]:
    """Where text stands that is on this side of a mark."""
    right, up = SIDES[side]
    aside, away = 6 if not up else 4 * (right != 0), 6 if not right else 4
    return {
        "xytext": (math.copysign(aside, right), math.copysign(away, up) if up else 0),
        "textcoords": "offset points",
        "ha": "left" if right > 0 else "right" if right < 0 else "center",
        "va": "bottom" if up > 0 else "top" if up < 0 else "center",
    }


def _dots(ax: Axes, marks: Marks) -> None:
    look = marks.look
    if marks.low:
        values = marks.x if marks.along == "x" else marks.y
        below = [value - low for value, low in zip(values, marks.low, strict=True)]
        above = [high - value for value, high in zip(values, marks.high, strict=True)]
        reach: dict[str, Any] = {"xerr" if marks.along == "x" else "yerr": [below, above]}
        ax.errorbar(marks.x, marks.y, **reach, fmt="none", ecolor=look.colour, elinewidth=1.1, zorder=2)
    ax.plot(
        marks.x,
        marks.y,
        color=look.colour,
        marker=look.marker or None,
        markersize=look.size * 0.75,
        markerfacecolor=_face(look),
        markeredgecolor="white" if look.filled else look.colour,
        markeredgewidth=0.9 if not look.filled else 0.3 if look.size > 4 else 0.0,
        linestyle=look.line or "none",
        linewidth=1.3 if look.marker else 0.8,
        zorder=3 if look.marker else 2,
    )


def _face(look: Look) -> str:
    return look.colour if look.filled else "white"


def _goal(ax: Axes, goal: Goal) -> None:
    upright = goal.along == "x"
    style: Any = "-" if not goal.name else (0, (4, 2))
    (ax.axvline if upright else ax.axhline)(goal.at, color=INK, linewidth=0.8, linestyle=style, zorder=1)
    place: dict[str, Any] = {"xy": (goal.at, 1), "xycoords": ax.get_xaxis_transform(), "va": "top", "rotation": 90}
    if not upright:
        place = {"xy": (1, goal.at), "xycoords": ax.get_yaxis_transform(), "va": "bottom"}
    offset: dict[str, Any] = {"xytext": (-2, -2 if upright else 1), "textcoords": "offset points"}
    ax.annotate(printable(goal.name), **place, **offset, ha="right", fontsize=SMALL, color=SOFT)


def _legend(figure: Figure, picture: Picture) -> None:
    from matplotlib.lines import Line2D

    named = {marks.name: marks.look for panel in picture.panels for marks in panel.marks if marks.name}
    handles = []
    for look in named.values():
        style: dict[str, Any] = {"marker": look.marker, "linestyle": look.line or "none", "markersize": 5}
        handles.append(Line2D([], [], color=look.colour, markerfacecolor=_face(look), **style))
    names = [f" {printable(name)}" for name in named]  # a name that begins with _ would be left out
    shape: dict[str, Any] = {"ncols": min(len(names), 6), "handletextpad": 0.4, "columnspacing": 1.4, "frameon": False}
    figure.legend(handles, names, loc="outside upper left", fontsize=SMALL, **shape)
