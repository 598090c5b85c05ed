"""Rows of this run and of earlier ones in one folder, always in one order: that of the experiments' files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from .experiments import ORDER
from .kinds import EDITIONS, Declared
from .making import Bed
from .planning import declared_row
from .results import Placed, Results, Row
from .schema import Experiment

D_ = TypeVar("D_", bound=Declared)
Place = tuple[Any, ...]
MADE_AS = ("kind", "method", "request", "preset", "few")  # recipe, epochs and options are in the command


def merged(old: Results | None, new: Results, experiments: Mapping[str, Experiment]) -> Results:
    """New rows in place of the old ones; old ones that their experiment does not declare any more are left out."""
    old = _without_outdated(old or Results(()), experiments)
    everything = {**old.experiments, **experiments}
    rows = _together(old.rows, new.rows, everything)
    ran = {row.experiment for row in rows}
    return Results(
        rows=rows,
        timings=_together(old.timings, new.timings, everything),
        points=_together(old.points, new.points, everything),
        experiments={name: everything[name] for name in sorted(ran, key=_rank)},
    )


def _without_outdated(old: Results, experiments: Mapping[str, Experiment]) -> Results:
    """What was made as its experiment says now: with other rows there is no mean."""
    outdated = {
        _placed(row) for row in old.rows if (now := experiments.get(row.experiment)) and not _as_declared(row, now)
    }
    return Results(
        rows=tuple(row for row in old.rows if _placed(row) not in outdated),
        timings=tuple(timing for timing in old.timings if _placed(timing) not in outdated),
        points=tuple(points for points in old.points if _placed(points) not in outdated),
        experiments=old.experiments,
    )


def _placed(one: Placed) -> Place:
    return tuple(getattr(one, name) for name in Placed.model_fields)


def _as_declared(row: Row, experiment: Experiment) -> bool:
    for setting, case, method in experiment.pairs(row.edition):
        if (setting.scenario, case.data, case.model, case.views, method.label) == _line(row):
            bed = Bed(case=case, seed=row.seed, folder=experiment.folder)
            now = declared_row(experiment, row.edition, setting, bed, method)
            same = all(getattr(row, name) == now[name] for name in MADE_AS)
            return same and _on_any_threads(row.command) == _on_any_threads(now["command"])
    return False


def _line(row: Row) -> Place:
    return row.scenario, row.data, row.model, row.views, row.label


def _on_any_threads(command: str) -> str:
    return re.sub(r" --threads \d+", "", command)


def _together(before: Iterable[D_], now: Iterable[D_], experiments: Mapping[str, Experiment]) -> tuple[D_, ...]:
    groups: dict[Place, list[D_]] = {}
    for source in (before, now):
        fresh: dict[Place, list[D_]] = {}
        for one in source:
            if (where := _place(one, experiments)) is not None:
                fresh.setdefault(where, []).append(one)
        groups |= fresh  # whole curves: a new one may have other epochs
    return tuple(one for where in sorted(groups) for one in groups[where])


def _place(one: Declared, experiments: Mapping[str, Experiment]) -> Place | None:
    """Where a row, a timing or a map stands; None if no experiment declares it."""
    said: Any = one
    experiment = experiments.get(said.experiment)
    labels = [method.label for method in experiment.methods] if experiment else []
    if experiment is None or said.label not in labels:
        return None
    for number, setting in enumerate(experiment.settings):
        if case := setting.case(said.edition):
            own = {"scenario": setting.scenario, "data": case.data, "model": case.model, "views": case.views}
            if all(getattr(said, name, value) == value for name, value in own.items()):
                where = (_rank(said.experiment), EDITIONS.index(said.edition), number)
                return (*where, said.seed, labels.index(said.label))
    return None


def _rank(experiment: str) -> tuple[int, str]:
    """The paper's order; a user's own come after, by name."""
    return (ORDER.index(experiment) if experiment in ORDER else len(ORDER), experiment)
