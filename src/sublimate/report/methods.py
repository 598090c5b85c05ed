"""What a method says of itself, in few words: scenarios, what it reads, its source."""

from __future__ import annotations

import re

from ..unlearn.base import Unlearner
from ..unlearn.card import SCENARIOS

FORGET, RETAIN = 5_000, 45_000
REFERENCE = f"{FORGET:,} forgotten of {FORGET + RETAIN:,} records"  # the request for which methods are compared
BUDGETS = {"forget": FORGET, "retain": RETAIN}
NONE = "–"


def summary(cls: type[Unlearner]) -> str:
    """The first line of the docstring."""
    return (cls.__doc__ or "").strip().partition("\n")[0]


def scenarios(cls: type[Unlearner]) -> str:
    """What may be asked of the method."""
    return "all" if set(cls.scenarios) == set(SCENARIOS) else ", ".join(cls.scenarios)


def needs(cls: type[Unlearner]) -> str:
    """Whether the method needs what was kept at training time."""
    return "needed" if cls.needs_records else NONE


def budget(cls: type[Unlearner]) -> int:
    """How many retained records the method gets by default, of the reference request."""
    return RETAIN if cls.few == "all" else min(cls.few, RETAIN)


def counts(cls: type[Unlearner]) -> dict[str, int]:
    """How many records of D_f and of D_r a run with default options reads (at most) for the reference request."""
    read = cls().reads(FORGET, budget(cls))
    return {part: read.get(part, 0) for part in ("forget", "retain")}


def passes(cls: type[Unlearner]) -> tuple[str, str]:
    """The same as passes over D_f, and over D_r or the few of it that the method gets."""
    read, few = counts(cls), budget(cls)
    over = "" if few == RETAIN or not read["retain"] else f" × {few:,}"
    return _number(read["forget"] / FORGET), _number(read["retain"] / few) + over


def in_words(cls: type[Unlearner]) -> str:
    """The same as records and passes."""
    shown = zip(("D_f", "D_r"), counts(cls).values(), passes(cls), strict=True)
    return "; ".join(f"{part}: {_records(read, over)}" for part, read, over in shown)


def short_source(cls: type[Unlearner]) -> str:
    """First author and year of the source."""
    return shorten(cls.card.source)


def shorten(source: str) -> str:
    """First author and year of a source that begins with its authors and a colon.

    >>> shorten("Koh, Liang: Black-box Predictions, 2017, arXiv 1703.04730"), shorten("Golatkar et al. 2020")
    ('Koh et al. 2017', 'Golatkar et al. 2020')
    """
    authors, colon, rest = source.partition(":")
    if not colon:
        return source
    first, *others = re.split(r",| and ", authors)
    year = re.search(r"(?<![\d.])(19|20)\d\d(?= ?[,;()]|\.?$)", rest)  # not one inside the title
    return NONE if first == "none" else first + (" et al." if others else "") + (f" {year[0]}" if year else "")


def _records(read: int, over: str) -> str:
    number, _, few = over.partition(" × ")
    passes = f"{number} {'pass' if number == '1' else 'passes'}" + (f" over {few}" if few else "")
    return f"{read:,} records in {passes}" if read else "none"


def _number(number: float) -> str:
    if not number:
        return NONE
    return (
        f"{number:.0f}" if number >= 9.95 else f"{number:.1f}".removesuffix(".0") if number >= 0.1 else f"{number:.1g}"
    )
