"""What a method says of itself, as data: `sublimate methods` and the method cards are printed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCENARIOS = ("full-class", "sub-class", "random", "records")
WHOLE_CLASSES = ("full-class",)


@dataclass(frozen=True, kw_only=True)
class Card:
    """Where a method comes from, what it computes, what it costs, and where ours differs.

    >>> Card(title="Finetune", source="Golatkar et al. 2020", formula="min E_Dr CE").memory
    '0'
    """

    title: str
    source: str  # authors, title, year, arXiv number
    formula: str
    memory: str = "0"  # floats beyond network and optimizer; P = the number of parameters
    authors: Mapping[str, Any] = field(default_factory=dict)  # the authors' values: `--preset paper`
    values: str = ""  # where those values come from, which others are in use, and why our defaults are what they are
    pitfalls: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()  # from the authors' public code
