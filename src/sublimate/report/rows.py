"""What a report is made of: one row per network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..audits.evaluation import Scores
from ..audits.result import Audit
from ..unlearn.base import Record


@dataclass(frozen=True, kw_only=True)
class Row:
    """One network: how it was made, how it scores, what it cost."""

    name: str
    scores: Scores
    seconds: float | None = None  # of the method alone
    samples: int | None = None  # images read by the method
    record: Record | None = None
    classes: Mapping[str, float] = field(default_factory=dict)  # accuracy on test records of each
    confusion: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # what forgotten classes are taken for


@dataclass(frozen=True, kw_only=True)
class Story:
    """All that one page or table tells: a request, its networks, and what was noticed."""

    title: str
    request: str
    data: str
    model: str
    split: str  # fingerprint
    counts: dict[str, int]  # rows per part
    rows: Sequence[Row]
    reference: str | None = None  # name of the row that gaps are measured against
    command: str = ""
    notes: Sequence[str] = ()
    audit: Audit | None = None
