"""Charts as plain Plotly descriptions: data and layout, without a line of drawing code."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..audits.evaluation import MEANING
from .rows import Row, Story
from .tables import erased, figure, finite, gap, kind, percent, reference, shown, signed

# Middle tones: each stands out from a white page and from a nearly black one.
NEUTRAL = "#7d8590"
COLOURS = ("#0d9488", "#c2620c", "#8b5cf6", "#2f7fe0", "#d6338a", "#8a7a0c", "#5b8a2d")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
DASHES = ("solid", "dash", "dot", "dashdot")
MOST_POINTS = 500  # per line: more than a screen shows
ITERATIONS = {"title": {"text": "iteration", "font": {"size": 13}}}
LANE = 18  # pixels between two networks

Trace = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One chart: what it shows, in words, and Plotly's description of it."""

    title: str
    words: str  # what is to be seen, for the caption and for those who cannot see it
    data: Sequence[Trace]
    layout: dict[str, Any]
    wide: bool = True  # takes a whole line of the page


def charts(story: Story) -> list[Chart]:
    """All charts that the rows give material for: the figures, the way there, the losses."""
    return [*_comparison(story), *_progress(story), *_losses(story)]


def _comparison(story: Story) -> Iterator[Chart]:
    keys, goal = shown(story), reference(story)
    others = [row for row in story.rows if row is not goal]
    if not keys:
        return
    lanes = max(len(others), 1)
    traces = [_goal(goal, keys)] if goal else []
    for place, row in enumerate(others):
        traces.append(_dots(story, row, keys, shift=((place + 0.5) / lanes - 0.5) * 0.76))
    borders = [
        {"xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "opacity": 0.3, "line": {"color": NEUTRAL, "width": 1}}
        for y in (place + 0.5 for place in range(len(keys) - 1))
    ]
    figures = {"tickvals": list(range(len(keys))), "ticktext": [MEANING[key][0] for key in keys]}
    yield Chart(
        title="The figures of each network",
        words="Each mark is one figure of one network, in percent."
        + (f" The line from a mark shows how far it is from {goal.name}, the upright bar." if goal else ""),
        data=traces,
        layout=layout(
            height=100 + LANE * lanes * len(keys),
            xaxis={"range": [-2, 102], "ticksuffix": " %", "zeroline": False},
            yaxis={**figures, "range": [len(keys) - 0.5, -0.5], "zeroline": False, "showgrid": False},
            shapes=borders,
        ),
    )


def _goal(goal: Row, keys: Sequence[str]) -> Trace:
    bars: list[tuple[float | None, float | None, str]] = []
    for place, key in enumerate(keys):
        value = figure(goal, key)
        bars += [(value, place + end, _hover(goal, key, None)) for end in (-0.42, 0.42)] + [(None, None, "")]
    x, y, text = zip(*bars, strict=True)
    line = {"color": NEUTRAL, "width": 3}
    return scatter(_label(goal.name), x, y, mode="lines", line=line, text=text, hoverinfo="text")


def _dots(story: Story, row: Row, keys: Sequence[str], shift: float) -> Trace:
    gaps = [gap(story, row, key) for key in keys]
    stems = {
        "type": "data",
        "symmetric": False,
        "array": [max(-(g or 0), 0) for g in gaps],
        "arrayminus": [max(g or 0, 0) for g in gaps],
        "width": 0,
        "thickness": 1.5,
    }
    return scatter(
        _label(row.name),
        [figure(row, key) for key in keys],
        [place + shift for place in range(len(keys))],
        mode="markers",
        marker={**_look(story, row), "size": 9},
        error_x=stems,
        text=[_hover(row, key, g) for key, g in zip(keys, gaps, strict=True)],
        hoverinfo="text",
    )


def _progress(story: Story) -> Iterator[Chart]:
    traces = [trace for row in erased(story) for trace in _accuracies(story, row)]
    if traces:
        yield Chart(
            title="Accuracy while erasing",
            words="Accuracy in percent, over the iterations of the method, on never-seen records of the classes that "
            "stay (solid) and on the records to forget (dotted); measured on samples.",
            data=traces,
            layout=layout(
                height=360,
                xaxis={**ITERATIONS, "rangemode": "tozero"},
                yaxis={"range": [-2, 102], "ticksuffix": " %", "zeroline": False},
            ),
        )


def _accuracies(story: Story, row: Row) -> Iterator[Trace]:
    look = _look(story, row)
    for key, words, dash in (("retained", "kept", "solid"), ("forgotten", "forgotten", "dot")):
        checks = [check for check in (row.record.checks if row.record else []) if key in check]
        if len(checks) > 1:  # one point is no way
            yield scatter(
                f"{_label(row.name)}, {words}",
                [finite(check["iteration"]) for check in checks],
                [finite(check[key]) for check in checks],
                mode="lines+markers",
                line={"color": look["color"], "dash": dash, "width": 2},
                marker={**look, "size": 7},
            )


def _losses(story: Story) -> Iterator[Chart]:
    for row in erased(story):
        losses = row.record.losses if row.record else []
        names = list(dict.fromkeys(name for seen in losses for name in seen))
        if not names:
            continue
        span = math.ceil(len(losses) / MOST_POINTS)
        yield Chart(
            title=f"Losses: {row.name}",
            words=f"Over {len(losses)} iterations: {', '.join(names)}."
            + (f" Each point is the mean of {span} iterations." if span > 1 else ""),
            data=[
                _curve(name, place, [finite(seen.get(name)) for seen in losses], span)
                for place, name in enumerate(names)
            ],
            layout=layout(height=300, xaxis=ITERATIONS, yaxis={}),
            wide=False,
        )


def _curve(name: str, place: int, values: Sequence[float | None], span: int) -> Trace:
    x, y = _thinned(values, span)
    line = {"color": _cycle(COLOURS, place), "dash": _cycle(DASHES, place), "width": 1.5}
    return scatter(_label(name), x, y, mode="lines" if len(x) > 1 else "markers", line=line)


def _thinned(values: Sequence[float | None], span: int) -> tuple[list[int], list[float | None]]:
    """Means over spans of iterations, placed at the last of each."""
    x, y = [], list[float | None]()
    for start in range(0, len(values), span):
        known = [value for value in values[start : start + span] if value is not None]
        x.append(min(start + span, len(values)))
        y.append(math.fsum(known) / len(known) if known else None)
    return x, y


def scatter(name: str, x: Sequence[Any], y: Sequence[Any], **look: Any) -> Trace:
    """One line or cloud of points."""
    return {"type": "scatter", "name": name, "x": list(x), "y": list(y), **look}


def layout(*, height: int, xaxis: dict[str, Any], yaxis: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What all charts of a page have in common."""
    # A fixed range leaves the finger on a phone to the page; colours of text and grid come from the page's own style.
    axis = {"fixedrange": True, "automargin": True, "gridcolor": NEUTRAL}
    return {
        "height": height,
        "margin": {"l": 8, "r": 22, "t": 32, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": NEUTRAL},
        "hoverlabel": {"bgcolor": "#1f2328", "bordercolor": NEUTRAL, "font": {"color": "#ffffff"}},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"},
        "showlegend": True,
        "xaxis": {**axis, **xaxis},
        "yaxis": {**axis, **yaxis},
        **more,
    }


def _hover(row: Row, key: str, distance: float | None) -> str:
    tail = "" if distance is None else f" ({signed(distance)})"
    return f"{_label(row.name)}<br>{MEANING[key][0]} {percent(figure(row, key))} %{tail}"


def _look(story: Story, row: Row) -> dict[str, str]:
    if kind(story, row) != "erased":
        return {"color": NEUTRAL, "symbol": "circle-open"}
    place = next(place for place, other in enumerate(erased(story)) if other is row)
    return {"color": _cycle(COLOURS, place), "symbol": _cycle(SYMBOLS, place)}


def _cycle(choices: Sequence[str], place: int) -> str:
    return choices[place % len(choices)]


def _label(name: str) -> str:
    """A name that fits into a legend, with both its ends; Plotly would read tags in it.

    >>> _label("runs/2024/<cifar10>/erased-with-a-very-long-name.safetensors")
    'runs/2024/&lt;cifar10&gt;/…-name.safetensors'
    """
    return html.escape(name if len(name) <= 38 else f"{name[:20]}…{name[-17:]}", quote=False)
