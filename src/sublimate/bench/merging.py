"""Rows of this run and of earlier ones in one folder, always in one order: that of the experiments' files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from .experiments import ORDER
from .kinds import EDITIONS, Declared
from .results import Results
from .schema import Experiment

D_ = TypeVar("D_", bound=Declared)
Place = tuple[Any, ...]


def merged(old: Results | None, new: Results, experiments: Mapping[str, Experiment]) -> Results:
    """New rows in place of the old ones; old ones that their experiment does not declare any more are left out."""
    old = old or Results(())
    everything = {**old.experiments, **experiments}
    rows = _together(old.rows, new.rows, everything)
    ran = {row.experiment for row in rows}
    return Results(
        rows=rows,
        timings=_together(old.timings, new.timings, everything),
        points=_together(old.points, new.points, everything),
        experiments={name: everything[name] for name in sorted(ran, key=_rank)},
    )


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
