"""Rows as a table for the terminal, and what a table of any kind shows."""

from __future__ import annotations

import math
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ..audits.evaluation import MEANING
from ..errors import InputRefused, unknown
from .rows import Row, Story

Kind = Literal["original", "reference", "erased"]
MISSING = "–"
NARROW = 4  # so many figures with their gaps fit on one line beside a name


def shown(story: Story) -> list[str]:
    """The figures that at least one network has, in the usual order."""
    return [key for key in MEANING if any(figure(row, key) is not None for row in story.rows)]


def figure(row: Row, key: str) -> float | None:
    """One figure of a network; None where it does not apply or is no number."""
    return finite(getattr(row.scores, key))


def reference(story: Story) -> Row | None:
    """The network that gaps are measured against."""
    if story.reference is None:
        return None
    for row in story.rows:
        if row.name == story.reference:
            return row
    raise unknown(InputRefused, "row", [story.reference], [row.name for row in story.rows])


def gap(story: Story, row: Row, key: str) -> float | None:
    """Signed distance of one figure to the reference; the reference itself has none."""
    goal = reference(story)
    return None if goal is None or goal is row else finite(row.scores.gap(goal.scores)[key])


def kind(story: Story, row: Row) -> Kind:
    """Whether a network is a yardstick (before erasing; never saw the records) or the result of erasing."""
    made_by = (row.record.method if row.record else row.name).casefold()
    if row is reference(story) or made_by == "retrain":
        return "reference"
    return "original" if made_by == "original" else "erased"


def erased(story: Story) -> list[Row]:
    """The networks that are results of erasing."""
    return [row for row in story.rows if kind(story, row) == "erased"]


def finite(value: float | None) -> float | None:
    """The number, or None for what is no number.

    >>> finite(1.5), finite(float("nan"))
    (1.5, None)
    """
    return value if value is not None and math.isfinite(value) else None


def percent(value: float | None) -> str:
    """Two decimals.

    >>> percent(93.456), percent(None)
    ('93.46', '–')
    """
    return MISSING if value is None else f"{value:.2f}"


def signed(value: float, decimals: int = 2) -> str:
    """A number with its sign; what rounds to nought has none.

    >>> signed(0.5), signed(-1.25, 1), signed(-0.001)
    ('+0.50', '-1.2', '0.00')
    """
    return f"{value:+.{decimals}f}" if round(value, decimals) else f"{0:.{decimals}f}"


def count(value: int | None) -> str:
    """A whole number with separators.

    >>> count(15000)
    '15,000'
    """
    return MISSING if value is None else f"{value:,}"


def duration(value: float | None) -> str:
    """Seconds with one decimal.

    >>> duration(1234.56)
    '1,234.6'
    """
    return MISSING if value is None else f"{value:,.1f}"


def score_table(story: Story) -> Table:
    """One line per network: its figures, in brackets the gap to the reference, and what it cost.

    >>> from ..audits.evaluation import Scores
    >>> story = Story(title="t", request="id:7", data="d", model="m", split="f", counts={},
    ...               rows=[Row(name="Original", scores=Scores(ta=90.0))])
    >>> [column.header for column in score_table(story).columns]
    ['Network', 'TA']
    """
    goal = reference(story)
    caption = f"Percentages. In brackets: distance to {goal.name}, in points." if goal else "Percentages."
    # Without frame and padding nothing is cut at 80 columns, if the gaps of many figures stand on a second line.
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=0, title=plain(story.title), caption=plain(caption))
    table.title_justify = table.caption_justify = "left"
    table.add_column("Network", overflow="fold")
    keys, costs = shown(story), _costs(story)
    between = "\n" if len(keys) > NARROW else " "
    for key in keys:
        table.add_column(MEANING[key][0], justify="right", overflow="fold")
    for header in costs:
        table.add_column(header, justify="right", no_wrap=True)
    for place, row in enumerate(story.rows):
        cells = [_cell(story, row, key, between) for key in keys] + [column[place] for column in costs.values()]
        table.add_row(plain(row.name), *cells, style="" if kind(story, row) == "erased" else "dim")
    return table


def meaning_lines(story: Story) -> list[str]:
    """Which way each shown figure is good, in words."""
    return [f"{label}: {words}." for label, words in (MEANING[key] for key in shown(story))]


def _cell(story: Story, row: Row, key: str, between: str) -> str:
    distance = gap(story, row, key)
    return percent(figure(row, key)) + ("" if distance is None else f"{between}({signed(distance, 1)})")


def _costs(story: Story) -> dict[str, list[str]]:
    columns = {
        "Seconds": [duration(row.seconds) for row in story.rows],
        "Images\nread": [count(row.samples) for row in story.rows],
    }
    return {header: cells for header, cells in columns.items() if any(cell != MISSING for cell in cells)}


def plain(text: str) -> Text:
    """What others named, as it may stand on a terminal: never read as markup, and steering nothing."""
    return Text("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text))
