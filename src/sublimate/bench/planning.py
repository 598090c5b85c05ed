"""Experiments, an edition and seeds become rows to fill and the steps that fill them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError, unknown
from ..files import sha256
from ..plan import Step
from ..plan.steps import to_json
from ..training import find_recipe
from . import analysis, curves, dispersion
from .commands import command
from .kinds import EditionName
from .making import Bed, Values, values
from .schema import Case, Experiment, Method, Setting

AUDITED = 5000  # records of each part that an audit looks at
ON_CURVES = 2000  # records of each part that a curve is measured on
VIEWS = {"smoke": (20, 10)}  # records and views of each for the divergence; elsewhere as in the paper
PAPER_VIEWS = (500, 100)
MAPPED = 10  # records of each kind on a map of views


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """A row as far as it is known before anything runs, and the steps that give the rest, by what they give."""

    row: Mapping[str, Any]
    steps: Mapping[str, Step]
    reference: Step | None = None  # all figures of Retrain
    epochs: int | None = None  # of a training

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """All that give something to the row."""
        return (*self.steps.values(), *([self.reference] if self.reference else []))

    @property
    def key(self) -> str:
        """Stands for all that the row depends on."""
        return sha256(to_json([dict(self.row), [step.key for step in self.all_steps]], "The row"))


def plan(
    experiments: Iterable[Experiment],
    edition: EditionName,
    seeds: int,
    only: Collection[str] = (),
    threads: int = 1,
    first: int = 0,
) -> list[Planned]:
    """Every row of the experiments in this edition, with so many seeds from the `first` on.

    `only` names methods (or labels of lines) that are wanted.
    """
    experiments = list(experiments)
    _check_names(only, experiments)
    numbers = range(first, first + seeds)
    return [row for experiment in experiments for row in _rows(experiment, edition, numbers, only, threads)]


def _rows(
    experiment: Experiment, edition: EditionName, seeds: Sequence[int], only: Collection[str], threads: int
) -> Iterator[Planned]:
    for setting in experiment.settings:
        if (case := setting.case(edition)) is None:
            continue
        for seed in seeds[: case.seeds]:
            bed = Bed(case=case, seed=seed, folder=experiment.folder, threads=threads)
            for method in experiment.methods:
                wanted = not only or {method.name, method.label} & set(only)
                exists = method.name != "retrain" or bed.retrain is not None
                if wanted and exists and method.belongs(edition, case):
                    yield _planned(experiment, edition, setting, bed, method)


def _planned(experiment: Experiment, edition: EditionName, setting: Setting, bed: Bed, method: Method) -> Planned:
    chosen = values(method, bed.case, edition, experiment.folder)
    scored = experiment.kind == "scores"
    return Planned(
        row=declared_row(experiment, edition, setting, bed, method),
        steps=_scored(bed, chosen, method.audited)
        if scored
        else {experiment.kind: _shown(experiment, edition, bed, chosen)},
        reference=_looked(bed, bed.retrain, "retrain", "all") if scored and bed.retrain else None,
        epochs=_epochs(bed.case) if method.name == "retrain" else None,
    )


def declared_row(
    experiment: Experiment, edition: EditionName, setting: Setting, bed: Bed, method: Method
) -> dict[str, Any]:
    """A row as far as the file says it."""
    case, chosen = bed.case, values(method, bed.case, edition, experiment.folder)
    return {
        "kind": experiment.kind,
        "experiment": experiment.id,
        "edition": edition,
        "scenario": setting.scenario,
        **{name: getattr(case, name) for name in ("data", "model", "views", "request")},
        "method": method.name,
        "label": method.label,
        "preset": method.preset,
        "options": chosen.options,
        "few": None if method.name == "original" else 0 if method.few == 0 else chosen.few,
        "seed": bed.seed,
        "seeds": bed.seeds,
        "command": command(bed, chosen),
    }


def _scored(bed: Bed, chosen: Values, audited: bool) -> dict[str, Step]:
    network, original, retrain = bed.network(chosen), bed.original, bed.retrain
    found = {"look": _looked(bed, network, chosen.name, chosen.few)}
    if retrain and network is not retrain:
        of: dict[str, Any] = {"on": bed.on, "network": network.name, "reference": retrain.name}
        found["beside"] = bed.step(f"{chosen.name} beside retrain", analysis.beside, (network, retrain), **of)
    if audited:
        both = tuple(dict.fromkeys((network, original)))
        of = {"on": bed.on, "network": network.name, "original": original.name, "sample": AUDITED}
        seed = bed.seeds["evaluate"]
        found["audit"] = bed.step(f"audit of {chosen.name}", analysis.audited, both, seed=seed, **of)
    return found


def _looked(bed: Bed, network: Step, name: str, few: int | str) -> Step:
    return bed.step(f"figures of {name}", analysis.look, (network,), on=bed.on, few=few)


def _shown(experiment: Experiment, edition: EditionName, bed: Bed, chosen: Values) -> Step:
    """The one step of a row that is no table of scores."""
    if experiment.kind == "curve":
        return _curve(bed, chosen)
    points, number = VIEWS.get(edition, PAPER_VIEWS)
    function = dispersion.divergence
    if experiment.kind == "tsne":
        points, function = MAPPED, dispersion.embedded
    options: dict[str, Any] = {
        "views": bed.case.views,
        "points": points,
        "number": number,
        "seed": bed.seeds["evaluate"],
    }
    what = f"{experiment.kind} of {chosen.name}"
    return bed.step(what, function, (bed.network(chosen),), on=bed.on, few=chosen.few, **options)


def _curve(bed: Bed, chosen: Values) -> Step:
    if chosen.name in ("original", "retrain"):
        options: dict[str, Any] = {"on": bed.on, "few": chosen.few, "sample": ON_CURVES}
        return bed.step(f"sample of {chosen.name}", curves.sampled, (bed.network(chosen),), **options)
    run = bed.run(chosen) | {"sample": ON_CURVES}
    return bed.step(f"curve of {chosen.name}", curves.curve, (bed.original,), chosen.name, **run)


def _epochs(case: Case) -> int:
    return find_recipe(case.recipe, epochs=case.epochs).epochs


def named(text: str, experiments: Iterable[Experiment]) -> list[str]:
    """Methods and labels in a text with commas between; a label may have commas too, so the longest known one counts.

    >>> from .experiments import find
    >>> named("siamese, Finetune, 100,Retrain", find("budget/cifar10"))
    ['siamese', 'Finetune, 100', 'Retrain']
    """
    known, left, found = _names(experiments), text.split(","), list[str]()
    while left:
        heads = [",".join(left[:size]).strip() for size in range(len(left), 0, -1)]
        head = next((head for head in heads if head in known), heads[-1])
        found.append(head)
        left = left[len(heads) - heads.index(head) :]
    return [name for name in found if name]


def _names(experiments: Iterable[Experiment]) -> dict[str, None]:
    return dict.fromkeys(name for e in experiments for m in e.methods for name in (m.name, m.label))


def _check_names(only: Collection[str], experiments: Iterable[Experiment]) -> None:
    known = _names(experiments)
    if wrong := [name for name in only if name not in known]:
        raise unknown(UsageError, "method of these experiments", wrong, known)
