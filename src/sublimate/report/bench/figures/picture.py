"""A picture described once: panels of marks, which matplotlib prints and the page draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

ACCENT, GREY, SECOND = "#0d9488", "#7d8590", "#d55e00"
# Told apart by people who see fewer colours, on white and on nearly black; the marker says the same without colour.
COLOURS = ("#d55e00", "#2f7fe0", "#cc79a7", "#b8860b", "#56a4d8", "#8b5cf6", "#8a6d5b")
MARKERS = ("s", "^", "D", "v", "P", "<", ">")
FOLD_TICKS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)  # distances
SEPARATOR = " · "  # between the parts of what a figure is about
WIDE, WIDEST = 2.5, 2.9  # folded scales that are longer have no room for all numbers


@dataclass(frozen=True, kw_only=True)
class Look:
    """How marks are drawn, in matplotlib's letters; an empty one draws nothing."""

    colour: str = GREY
    marker: str = "o"
    line: str = ""
    filled: bool = True
    size: float = 6.0


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What is drawn in one look under one name."""

    name: str  # "" stays out of the legend
    x: Sequence[float]
    y: Sequence[float]
    look: Look
    bars: bool = False  # from nought to x
    low: Sequence[float] = ()  # ends of intervals, in the direction of `along`
    high: Sequence[float] = ()
    along: Literal["x", "y"] = "x"
    says: Sequence[str] = ()  # of each mark, where the reader points at it
    written: Sequence[str] = ()  # beside each mark
    sides: Sequence[str] = ()  # where: right, above left, …


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis; with ticks it shows these and no others."""

    title: str = ""
    ticks: Mapping[float, str] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    log: bool = False
    grid: bool = True
    shown: bool = True


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A line across the panel: what should be reached."""

    name: str
    at: float
    along: Literal["x", "y"] = "x"  # the axis on which it has its place


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot."""

    title: str
    marks: Sequence[Marks]
    x: Axis
    y: Axis
    goals: Sequence[Goal] = ()
    rows: int = 0  # lines of a list; 0: as high as the picture likes


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One figure: panels in rows and columns, and in words what is to be seen."""

    name: str  # of its files
    experiment: str
    title: str
    words: str
    grid: Sequence[Sequence[Panel]]
    legend: bool = False
    height: float = 2.2  # inches of a panel that is no list
    about: str = ""  # what was run, and how often: for a figure that stands alone

    @property
    def panels(self) -> list[Panel]:
        """All panels, row by row."""
        return [panel for row in self.grid for panel in row]


def fold(value: float) -> float:
    """Where a distance stands on a scale that is fine near nought and coarse far off, on both sides.

    >>> fold(0.0), fold(9.0), fold(-99.0)
    (0.0, 1.0, -2.0)
    """
    return math.copysign(math.log10(1 + abs(value)), value)


def folded_axis(title: str, values: Sequence[float], *, grid: bool = True) -> Axis:
    """An axis of folded distances, from nought to beyond the furthest value on each side."""
    least, most = min([0.0, *values]), max([0.0, *values])
    marks = [-tick for tick in FOLD_TICKS[:0:-1]] + list(FOLD_TICKS)
    lowest = max((tick for tick in marks if tick <= least), default=marks[0])
    highest = min((tick for tick in marks if tick >= most), default=marks[-1])
    length = fold(highest) - fold(lowest)
    told = {*FOLD_TICKS} if least == 0 else {-100.0, -10.0, -1.0, 0.0, 1.0, 10.0, 100.0}
    told -= ({-10.0} if length > WIDEST else set()) | ({-1.0, 1.0} if length > WIDE else set())
    ticks = {
        fold(tick): f"{tick:g}".replace("-", "−") if tick in told else "" for tick in marks if lowest <= tick <= highest
    }
    pad = 0.06 * (length or 1.0)
    return Axis(title=title, ticks=ticks, span=(fold(lowest) - pad, fold(highest) + pad), grid=grid)


def log_axis(title: str, values: Sequence[float], *, room: float = 1.2) -> Axis:
    """A logarithmic axis with a little room at both ends; few numbers, and round ones."""
    low, high = min(values) / room, max(values) * room
    steps = (1, 3) if high / low > 12 else (1, 2, 5) if high / low > 3 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return Axis(
        title=title, log=True, span=(low, high), ticks={tick: f"{tick:,.4g}" for tick in ticks if low <= tick <= high}
    )


def listed_axis(names: Sequence[str]) -> Axis:
    """Lines of a list, the first on top."""
    return Axis(ticks=dict(enumerate(map(short, names))), span=(len(names) - 0.4, -0.6), grid=False)


def short(name: str, most: int = 30) -> str:
    """A name that steers nothing: printable, and short enough for its place, with both its ends.

    >>> short("a very long name that nobody could ever print beside a figure")
    'a very long name…side a figure'
    """
    plain = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return plain if len(plain) <= most else f"{plain[: most - 14]}…{plain[-13:]}"
