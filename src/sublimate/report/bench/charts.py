"""Pictures on the page: every panel as Plotly's description of it."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from ..figures import Trace, layout
from .figures.picture import GREY, Axis, Goal, Look, Marks, Panel, Picture, short

SYMBOLS = {
    "o": ("circle", "●", "○"), "s": ("square", "■", "□"), "D": ("diamond", "◆", "◇"), "^": ("triangle-up", "▲", "△"),
    "v": ("triangle-down", "▼", "▽"), "P": ("cross", "✚", "✚"), "X": ("x", "✖", "✖"), "*": ("star", "★", "☆"),
    "<": ("triangle-left", "◀", "◁"), ">": ("triangle-right", "▶", "▷"),
}  # fmt: skip
DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}
PLACES = {
    "right": "middle right", "left": "middle left", "above": "top center", "below": "bottom center",
    "above right": "top right", "below right": "bottom right", "above left": "top left", "below left": "bottom left",
}  # fmt: skip
MOST_MARKS = 40  # of one cloud: more only slow the page down
LINE, AROUND = 25, 62  # pixels of a line in a list, and around it


def chart(panel: Panel, picture: Picture) -> dict[str, Any]:
    """One panel: traces, layout."""
    bare = not panel.x.shown and not panel.rows
    high = AROUND + LINE * max(panel.rows, 2) if panel.rows else round((150 if bare else 100) * picture.height)
    look = layout(height=high, xaxis=_axis(panel.x), yaxis=_axis(panel.y), shapes=[_goal(goal) for goal in panel.goals])
    look |= {"showlegend": False, "margin": {"l": 8, "r": 12, "t": 8, "b": 8 if bare else 36}, "hovermode": "closest"}
    look["annotations"] = [_named(goal, panel) for goal in panel.goals if goal.name]
    return {"data": [_trace(marks) for marks in panel.marks if marks.x], "layout": look}


def legend(picture: Picture) -> list[tuple[str, str, str]]:
    """Sign, colour and name of everything that has a name."""
    named = {marks.name: marks.look for panel in picture.panels for marks in panel.marks if marks.name}
    return [(SYMBOLS[look.marker][1 if look.filled else 2], look.colour, name) for name, look in named.items()]


def _trace(marks: Marks) -> Trace:
    span = math.ceil(len(marks.x) / MOST_MARKS) if not marks.look.line else 1
    x, y = list(marks.x)[::span], list(marks.y)[::span]
    texts = [escaped(text, 120) for text in list(marks.says)[::span]]
    hover = {"text": texts, "hoverinfo": "text"} if texts else {"hoverinfo": "skip"}
    if marks.bars:
        bar = {"type": "bar", "orientation": "h", "marker": {"color": marks.look.colour}, "width": 0.62}
        return {**bar, "x": x, "y": y, **_written(marks, bars=True), "hovertext": texts, "hoverinfo": "text"}
    trace: Trace = {"type": "scatter", "x": x, "y": y, "mode": _mode(marks), **hover, **_drawn(marks.look)}
    if marks.low:
        trace[f"error_{marks.along}"] = _reach(marks)
    return trace | (_written(marks, bars=False) | {"hovertext": texts} if marks.written else {})


def _mode(marks: Marks) -> str:
    parts = (
        "lines" if marks.look.line else "",
        "markers" if marks.look.marker else "",
        "text" if marks.written else "",
    )
    return "+".join(filter(None, parts))


def _drawn(look: Look) -> dict[str, Any]:
    symbol = SYMBOLS[look.marker][0] + ("" if look.filled else "-open") if look.marker else "circle"
    size = max(1.6 * look.size, 4)
    return {
        "marker": {"color": look.colour, "symbol": symbol, "size": size, "line": {"width": 0 if look.filled else 1.8}},
        "line": {"color": look.colour, "width": 2 if look.marker else 1, "dash": DASHES.get(look.line, "solid")},
        "cliponaxis": False,
    }


def _written(marks: Marks, *, bars: bool) -> dict[str, Any]:
    if bars:
        return {"text": [escaped(text) for text in marks.written], "textposition": "outside", "cliponaxis": False}
    return {"text": [escaped(text) for text in marks.written], "textposition": [PLACES[side] for side in marks.sides]}


def _reach(marks: Marks) -> dict[str, Any]:
    values = marks.x if marks.along == "x" else marks.y
    above = [high - value for value, high in zip(values, marks.high, strict=True)]
    below = [value - low for value, low in zip(values, marks.low, strict=True)]
    ends = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    return {**ends, "width": 0, "thickness": 1.6, "color": marks.look.colour}


def _axis(axis: Axis) -> dict[str, Any]:
    found: dict[str, Any] = {"visible": axis.shown, "showgrid": axis.grid, "zeroline": False}
    found |= {"ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)"}  # air between numbers and plot
    if axis.log:
        found["type"] = "log"
    if axis.ticks:
        found |= {"tickvals": list(axis.ticks), "ticktext": [escaped(text) for text in axis.ticks.values()]}
    if axis.span:
        found["range"] = [math.log10(end) for end in axis.span] if axis.log else list(axis.span)
    if axis.title:
        found["title"] = {"text": escaped(axis.title, 60), "font": {"size": 13}, "standoff": 8}
    return found


def _goal(goal: Goal) -> dict[str, Any]:
    line = {"color": GREY, "width": 1.6, "dash": "dash" if goal.name else "solid"}
    if goal.along == "x":
        return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": goal.at, "x1": goal.at, "line": line}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": goal.at, "y1": goal.at, "line": line}


def _named(goal: Goal, panel: Panel) -> dict[str, Any]:
    text = {"text": escaped(goal.name), "showarrow": False, "font": {"size": 12}, "xanchor": "right"}
    if goal.along == "x":
        at = math.log10(goal.at) if panel.x.log else goal.at
        return text | {"x": at, "yref": "paper", "y": 1, "yanchor": "top", "textangle": -90, "xshift": -1}
    return text | {"xref": "paper", "x": 1, "y": goal.at, "yanchor": "bottom"}


def escaped(text: str, most: int = 30) -> str:
    """Plotly reads tags in text: none are left.

    >>> escaped("<b>Siamese</b>")
    '&lt;b&gt;Siamese&lt;/b&gt;'
    """
    return html.escape(short(text, most), quote=False)


def described(picture: Picture, panel: Panel) -> str:
    """A panel for those who cannot see it: its title and what its marks say."""
    said: Sequence[str] = [text for marks in panel.marks if len(marks.x) <= MOST_MARKS for text in marks.says]
    return f"{picture.title}, {panel.title}. " + "; ".join(said[:60])
