"""The whole flow on one screen: request → split → unlearn → evaluate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from .audits.evaluation import Scores, evaluate
from .audits.records import check_records
from .data.core import Data
from .errors import Interrupted, UnlearningFailed, check_is
from .inference import GIVE_MODEL, accuracy, predict
from .loop import Progress, Saver
from .networks import factory
from .recording import find_recorder
from .records import TrainingRecords
from .request import Request, parse
from .splits import GIVE_DATA, Part, Split, split
from .training import find_recipe, fit
from .unlearn import find
from .unlearn.base import Factory, Record
from .unlearn.guard import effect, told
from .unlearn.presets import configure, serving


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """An erased network and what is known about it."""

    model: nn.Module
    before: Scores | None
    after: Scores | None
    split: Split
    record: Record
    seconds: float  # of the method alone, its choices included
    records: Any = None  # what training kept, as it is true of the erased network

    @property
    def samples(self) -> int:
        """How many images the method read, its choices included."""
        probe = self.record.choices.get("probe", [])
        return sum(self.record.samples.values()) + sum(int(tried.get("samples", 0)) for tried in probe)


def erase(
    model: nn.Module,
    data: Data,
    request: Request | str,
    *,
    method: str = "siamese",
    preset: str = "auto",
    few: int | Literal["all"] | None = None,
    seed: int = 0,
    exclude: Iterable[str] = (),
    records: object | None = None,
    factory: Factory | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Result:
    """Erase what the request names from a copy of the network, and say how it scores before and after.

    >>> import sublimate as sm
    >>> data = sm.load("digits")
    >>> model = sm.train(data, "small-cnn", epochs=2)
    >>> result = sm.erase(model, data, "class:3", few=200)
    >>> result.before.acc_df > result.after.acc_df
    True
    """
    check_is("model", model, nn.Module, GIVE_MODEL)
    check_is("data", data, Data, GIVE_DATA)
    check_is("preset", preset, str | Path, "Give auto, paper or the path of a preset file.")
    asked = parse(request, data.classes, data.ids) if isinstance(request, str) else request
    method = serving(method, preset, options, asked)
    chosen = split(data, asked, few=find(method).few if few is None else few, seed=seed, exclude=exclude)
    result = erase_split(
        model,
        chosen,
        method=method,
        preset=preset,
        options={"seed": seed} | options,
        records=records,
        factory=factory,
        progress=progress,
    )
    check_changed(model, result.model)
    return result


def check_changed(before: nn.Module, after: nn.Module) -> None:
    """Fail where all weights are as they were: nothing was erased."""
    old, new = before.state_dict(), after.state_dict()
    if all(torch.equal(old[name], new[name]) for name in old):
        raise UnlearningFailed(
            "The run had no effect: all weights are as they were.",
            "Use a method that changes the network: `sublimate methods` lists them.",
            after,
        )


def erase_split(
    model: nn.Module,
    chosen: Split,
    *,
    method: str,
    preset: str,
    options: Mapping[str, Any],
    evaluated: bool = True,
    records: object | None = None,
    factory: Factory | None = None,
    progress: Callable[[Progress], None] | None = None,
    savers: tuple[Saver | None, Saver | None] = (None, None),  # of the choices, of the run
    interrupted: Callable[[], bool] = lambda: False,
    finish: Callable[[nn.Module], bool] | None = None,
) -> Result:
    """`erase` for a split that is already made; killed and called again it continues.

    `finish` makes of the network what will be written (of its own precision, say), and tells whether that changed it:
    the effect and the figures are those of the network as written.
    """
    began = time.perf_counter()
    unlearner, choices = configure(method, preset, options, model, chosen, progress, savers[0], interrupted)
    outcome = unlearner.run(
        model,
        chosen.forget_set,
        chosen.few_set,
        ratios=chosen.ratios,
        val=chosen.val_set,
        records=records,
        factory=factory,
        progress=progress,
        saver=savers[1],
        interrupted=interrupted,
    )
    seconds = time.perf_counter() - began
    outcome.record.choices = choices | outcome.record.choices
    if finish and finish(outcome.model) and unlearner.changes:
        outcome.record.choices["confidence_shift"] = told(effect(outcome.model, model, chosen.forget_set))
    outcome.record.warnings += came_back(outcome.model, model, chosen)
    if not unlearner.anew:  # who begins anew never saw them, and a record may be unlike its class
        check_records(outcome.model, model, chosen)

    def tick(_: int) -> None:
        if interrupted():
            raise Interrupted("Stopped while evaluating.", "The same command continues.")

    return Result(
        model=outcome.model,
        before=evaluate(model, chosen, tick=tick) if evaluated else None,
        after=evaluate(outcome.model, chosen, tick=tick) if evaluated else None,
        split=chosen,
        record=outcome.record,
        seconds=seconds,
        records=outcome.records,
    )


def came_back(after: nn.Module, before: nn.Module, chosen: Split) -> list[str]:
    """A warning when a class that was forgotten earlier is known again: what one run hides, another may uncover."""
    if chosen.val_set is None or not len(chosen.gone_earlier):
        return []
    part = chosen.val_set.where(torch.isin(chosen.val_set.labels, chosen.gone_earlier))
    if not len(part):
        return []
    was, now = (accuracy(predict(network, part), part.labels) for network in (before, after))
    if now <= was + 5:
        return []
    return [f"Classes forgotten earlier came back: {now:.1f} % of never-seen records are right, {was:.1f} % before."]


def train(
    data: Data,
    model: str,
    *,
    forget: Request | str | None = None,
    exclude: Iterable[str] = (),
    recipe: str = "fast",
    views: str = "simple",
    epochs: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> nn.Module:
    """Train a network from scratch; with `forget`, without those rows and those of `exclude`: Retrain."""
    check_is("data", data, Data, GIVE_DATA)
    check_is("model", model, str, "Give the name of a built-in network, or module:function for one of your own.")
    rows = data.train if forget is None else split(data, forget, seed=seed, exclude=exclude).retain
    chosen = find_recipe(recipe, epochs=epochs, views=views)
    return fit(factory(model, data), Part(data, rows, "train"), chosen, seed=seed, progress=progress)[0]


def train_recorded(
    data: Data,
    model: str,
    *,
    method: str,
    shards: int = 5,
    slices: int = 4,
    watch: Request | str | None = None,
    forget: Request | str | None = None,
    recipe: str = "fast",
    views: str = "simple",
    epochs: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[nn.Module, TrainingRecords]:
    """`train`, keeping what the method needs later: "sisa" (`shards`, `slices`) or "amnesiac-true" (`watch`).

    >>> import sublimate as sm
    >>> from sublimate.unlearn.sisa import Sisa
    >>> data = sm.load("digits")
    >>> model, records = train_recorded(data, "small-cnn", method="sisa", shards=3, slices=2, epochs=1)
    >>> request = sm.split(data, "id:7", few="all")
    >>> outcome = Sisa().run(model, request.forget_set, request.few_set, ratios=request.ratios, records=records)
    >>> len(outcome.record.choices["retrained"]), outcome.records.header.network == records.header.network
    (1, False)
    """
    rows = data.train if forget is None else split(data, forget, seed=seed).retain
    chosen = find_recipe(recipe, epochs=epochs, views=views)
    keeper, name = find_recorder(method, model, data, shards=shards, slices=slices, watch=watch, seed=seed)
    build, part = factory(name, data), Part(data, rows, "train")
    network, _ = fit(build, part, chosen, seed=seed, phases=keeper.phases, progress=progress)
    assert keeper.records is not None
    return network, keeper.records
