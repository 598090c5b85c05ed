"""What a summary is made of: settings, lines and cells, each a mean over seeds with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

from .kinds import EditionName
from .schema import Experiment

YARDSTICKS = ("original", "retrain")  # what methods are measured by: never best
DECIMALS = {"auc": 3, "js": 4, "kl_dr": 4, "kl_df": 4, "spread_dr": 4, "spread_df": 4}  # of a percentage: 2
AVERAGE_GAP = "average_gap"
Mark = Literal["best", "second"]


class Where(NamedTuple):
    """A setting, as it was run."""

    edition: EditionName
    scenario: str
    data: str
    model: str
    views: str


@dataclass(frozen=True)
class Estimate:
    """A mean over n seeds; `half` is half the width of its 95 % t interval, None for a single seed."""

    mean: float
    half: float | None
    n: int


@dataclass(frozen=True)
class Cell:
    """One measure of one line; gaps are own minus Retrain's of the same training seed."""

    measured: Estimate | None
    gap: Estimate | None
    reported: float | None
    contaminated: bool = False  # the Retrain that the reported figure was compared with saw D_f
    remarked: bool = False  # a remark concerns the reported figure


@dataclass(frozen=True, kw_only=True)
class Line:
    """One label of one setting (of a curve: at one epoch), over its seeds."""

    label: str
    method: str
    few: int | str | None
    options: Mapping[str, Any]  # of the first seed
    epoch: float | None
    seeds: int
    failed: tuple[str, ...]  # causes, one for every seed that failed
    cells: Mapping[str, Cell]
    auc: Estimate | None  # forgotten against never-seen records
    average_gap: Estimate | None
    tow: Estimate | None
    seconds: float | None  # median, of the method alone
    efficiency: float | None  # seconds of Retrain / own, median over seeds
    samples: float | None  # median, images read
    verdicts: Mapping[str, int]  # how often, PASS first
    reasons: tuple[str, ...] = ()  # of the audit, of the first seed
    marks: Mapping[str, Mark] = field(default_factory=dict)  # by measure, and of the average gap


@dataclass(frozen=True, kw_only=True)
class Block:
    """The lines of one setting."""

    where: Where
    request: str
    measures: tuple[str, ...]  # those with a value
    lines: tuple[Line, ...]
    chosen_on: int = 0  # test records that served for choosing: methods with choices saw them


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All that the tables of one experiment show."""

    experiment: Experiment
    blocks: tuple[Block, ...]
    threads: tuple[int, ...]  # with which seconds were taken
    hosts: int
    devices: tuple[str, ...] = ()


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and 95 % t interval; None without values.

    >>> estimate([5.0])
    Estimate(mean=5.0, half=None, n=1)
    """
    n = len(values)
    if n < 2:
        return Estimate(values[0], None, 1) if values else None
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    return Estimate(fmean(values), float(stdtrit(n - 1, 0.975)) * stdev(values) / math.sqrt(n), n)
