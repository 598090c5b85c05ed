"""Results of a bench run as files: rows (what is determined), timings, points of figures, and the experiments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from ..errors import InputRefused
from ..files import read_bytes, rewrite
from ..plan.steps import to_json
from .copies import copy, dump
from .kinds import Budget, Declared, EditionName, Finite, Id, Kind
from .schema import Experiment

Figure = int | Finite | None  # None where a measure does not apply
ROWS, TIMINGS, POINTS, EXPERIMENTS = "rows.jsonl", "timings.jsonl", "points.jsonl", "experiments"


class Audited(Declared):
    """The verdict of an audit, and the interval of the AUC it rests on."""

    verdict: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    tier: int
    reasons: tuple[str, ...] = ()
    auc: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None


class Placed(Declared):
    """Where something that was found belongs: the setting, the line of its table, the seed."""

    experiment: Id
    edition: EditionName
    scenario: str
    data: str
    model: str
    views: str
    label: str
    seed: int


class Row(Placed):
    """One network of one experiment: how it was made and all its figures."""

    kind: Kind
    request: str
    method: str
    preset: str
    options: dict[str, Any]
    choices: dict[str, Any] = Field(default_factory=dict)  # along the run; nothing in rows from before it was kept
    few: Budget | None
    seeds: dict[str, int]
    split: str
    versions: dict[str, str]
    device: str = ""  # where the figures were taken
    n: dict[str, int]
    figures: dict[str, Figure]
    epoch: Finite | None = None  # of a curve: epochs of the method that are done
    gap: dict[str, Figure] | None = None  # own minus Retrain's
    average_gap: Finite | None = None
    tow: Finite | None = None
    classes: dict[str, Figure] = Field(default_factory=dict)
    confusion: dict[str, dict[str, Figure]] = Field(default_factory=dict)
    audit: Audited | None = None
    failed: str | None = None
    stopped: str | None = None
    command: str = ""
    key: str = ""  # stands for all that a whole row depends on; one that lacks a part has none


class Timing(Placed):
    """What is not determined: how long the method alone took, where and when."""

    seconds: Finite
    threads: int
    device: str = ""  # cpu, cuda, …; of rows from before it was kept, nothing
    host: str
    at: str


class Points(Placed):
    """Views of records in the plane: x, y, group (0 retained, 1 forgotten), number of the record."""

    points: tuple[tuple[Finite, Finite, int, int], ...]


@dataclass(frozen=True)
class Results:
    """All that a folder of results holds."""

    rows: tuple[Row, ...]
    timings: tuple[Timing, ...] = ()
    points: tuple[Points, ...] = ()
    experiments: Mapping[str, Experiment] = field(default_factory=dict)  # by id


D_ = TypeVar("D_", bound=Declared)


def read(folder: Path) -> Results:
    """The results in a folder; damaged lines are refused with their place."""
    if not (folder / ROWS).is_file():
        raise InputRefused(f"{folder} holds no {ROWS}.", "Give a folder that sublimate bench has written.")
    rows = tuple(_lines(folder / ROWS, Row))
    ids = dict.fromkeys(row.experiment for row in rows)  # in the order in which they were run
    return Results(
        rows=rows,
        timings=tuple(_lines(folder / TIMINGS, Timing)),
        points=tuple(_lines(folder / POINTS, Points)),
        experiments={one: copy(one, folder / EXPERIMENTS) for one in ids},
    )


def write(folder: Path, results: Results) -> None:
    """Write the results, each file whole; rows last, for what belongs to a row that is there is never made again."""
    dump(results.experiments.values(), folder / EXPERIMENTS)
    for name, lines in ((POINTS, results.points), (TIMINGS, results.timings), (ROWS, results.rows)):
        rewrite(folder / name, to_lines(lines))


def to_lines(found: Iterable[Declared]) -> bytes:
    """One JSON object a line, keys sorted: the same bytes for the same results."""
    return b"".join(to_json(one.model_dump(), type(one).__name__) + b"\n" for one in found)


def _lines(path: Path, kind: type[D_]) -> Iterable[D_]:
    if not path.exists():
        return
    for number, line in enumerate(read_bytes(path).splitlines(), start=1):
        try:
            yield kind.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            at = ".".join(map(str, first["loc"]))
            cause = f"{path}, line {number}: {at + ': ' if at else ''}{first['msg']}."
            raise InputRefused(cause, "Run sublimate bench again: it writes the file anew.") from None
