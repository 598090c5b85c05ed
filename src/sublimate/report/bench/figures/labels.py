"""Where names stand beside their marks, so that they cover neither each other nor other marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .picture import Axis, Goal, short

SIDES = {
    "right": (0.5, 0.0), "left": (-0.5, 0.0), "above": (0.0, 0.5), "below": (0.0, -0.5),
    "above right": (0.5, 0.5), "below right": (0.5, -0.5), "above left": (-0.5, 0.5), "below left": (-0.5, -0.5),
}  # fmt: skip
LETTER, LINE, AIR, THIN = 0.068, 0.15, 0.07, 0.02  # inches
ROUNDS = 4
Box = tuple[float, float, float, float]  # left, right, bottom, top


def beside(
    places: Mapping[str, tuple[float, float]],
    x: Axis,
    y: Axis,
    inches: tuple[float, float],
    upright: Sequence[Goal] = (),
) -> dict[str, str]:
    """A side for every name; each takes the one with the least overlap with marks, other names and upright lines.

    >>> axis = Axis(span=(0.0, 1.0))
    >>> beside({"one": (0.5, 0.5), "two": (0.55, 0.5)}, axis, axis, (3.0, 2.0))
    {'one': 'left', 'two': 'right'}
    """
    dots = {name: (_along(x, at[0]) * inches[0], _along(y, at[1]) * inches[1]) for name, at in places.items()}
    marks: list[Box] = [(h - AIR, h + AIR, v - AIR, v + AIR) for h, v in dots.values()]
    marks += [box for goal in upright for box in _line(goal, _along(x, goal.at) * inches[0], inches[1])]
    chosen: dict[str, str] = {}
    for name in [*dots] * ROUNDS:  # later rounds move what the first ones put in the way
        others = [_box(other, dots[other], side) for other, side in chosen.items() if other != name]
        costs = dict.fromkeys(SIDES, 0.0)
        for side in SIDES:
            box = _box(name, dots[name], side)
            costs[side] = sum(_shared(box, other) for other in [*marks, *others]) + _outside(box, inches)
        chosen[name] = min(costs, key=lambda side: costs[side])
    return chosen


def _along(axis: Axis, value: float) -> float:
    """The place on an axis as a share of its length."""
    low, high = axis.span or (0.0, 1.0)
    if axis.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low)


def _box(name: str, dot: tuple[float, float], side: str) -> Box:
    width = LETTER * len(short(name))
    right, up = SIDES[side]
    h, v = dot[0] + right * (width + 3 * AIR), dot[1] + up * (LINE + 2.2 * AIR)
    return h - width / 2, h + width / 2, v - LINE / 2, v + LINE / 2


def _line(goal: Goal, at: float, top: float) -> tuple[Box, Box]:
    """A line across the panel, and its name, which stands upright on its left, at the top."""
    return (at - THIN / 2, at + THIN / 2, 0.0, top), (at - LINE, at, top - LETTER * len(short(goal.name)), top)


def _shared(one: Box, other: Box) -> float:
    wide = min(one[1], other[1]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[2], other[2])
    return max(wide, 0.0) * max(high, 0.0)


def _outside(box: Box, inches: tuple[float, float]) -> float:
    over = max(-box[0], 0) + max(box[1] - inches[0], 0) + max(-box[2], 0) + max(box[3] - inches[1], 0)
    return over * LINE / 6  # beyond the edge is poor, but it can be read
