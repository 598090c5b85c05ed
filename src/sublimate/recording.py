"""Training that keeps records for the methods which need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .checkpoint import digest_of
from .data.batches import Batch, Meter
from .data.core import Data
from .errors import InputRefused, UsageError, unknown
from .models.ensemble import Ensemble
from .phase import Losses, Phase
from .records import Header, Kept, TrainingRecords, digest_of_data
from .request import Request
from .splits import Part, split
from .training import Recipe, train_phase
from .unlearn.gradients import movable
from .unlearn.slices import Slicing, assign

RECORDED = ("sisa", "amnesiac-true")


class Recorder(Protocol):
    """Brings the phases of a training, and has records when they are over."""

    records: TrainingRecords | None

    @property
    def depends_on(self) -> Any:
        """What the records depend on, fit for JSON."""

    def phases(
        self, model: nn.Module, part: Part, recipe: Recipe, seed: int, meter: Meter, device: torch.device
    ) -> Iterable[Phase]:
        """What `fit` runs."""


@dataclass(eq=False)
class SliceRecorder:
    """Trains an ensemble in slices and keeps the state before each; the last one is the ensemble's own."""

    shards: int
    slices: int
    records: TrainingRecords | None = field(default=None, init=False)

    @property
    def depends_on(self) -> Any:
        """How many of each."""
        return {"shards": self.shards, "slices": self.slices}

    def check(self, rows: int) -> None:
        """Refuse slices that so many records cannot fill."""
        if self.shards * self.slices > rows:
            raise InputRefused(
                f"{rows} records cannot fill {self.shards} shards of {self.slices} slices.", "Ask for fewer."
            )

    def phases(
        self, model: nn.Module, part: Part, recipe: Recipe, seed: int, meter: Meter, device: torch.device
    ) -> Iterator[Phase]:
        """All slices of all shards."""
        if not isinstance(model, Ensemble) or len(model.shards) != self.shards:
            raise InputRefused(f"The network has not {self.shards} shards.", f"Build sisa:{self.shards}:….")
        slicing, kept = self._slicing(part, recipe, seed), Kept()
        for s, shard in enumerate(model.shards):
            kept.keep(f"state.{s}.0", shard.state_dict())
        yield from slicing.phases(model, part.data, [0] * self.shards, kept, meter, device)
        header = _header("sisa", model, part.data, slicing.values())
        self.records = TrainingRecords(header=header, tensors={"cells": slicing.cells, **kept.tensors})

    def _slicing(self, part: Part, recipe: Recipe, seed: int) -> Slicing:
        whole = part.data.sizes[0]
        self.check(whole)
        if not isinstance(recipe.views, str):
            raise InputRefused("A deletion must repeat the views, and these have no name.", "Give views by name.")
        # Dealt over all rows: who is left out, later or from the start, moves nobody else.
        cells = assign(whole, self.shards, self.slices, seed)
        slicing = Slicing(seed=seed, shards=self.shards, slices=self.slices, recipe=recipe, cells=cells)
        return slicing.without(part.data.train[~torch.isin(part.data.train, part.rows)])


@dataclass(eq=False)
class UpdateRecorder:
    """Trains as usual, and keeps Δ_b = θ_new − θ_old of each batch b that holds watched rows, and those rows."""

    watched: Tensor
    records: TrainingRecords | None = field(default=None, init=False)

    @property
    def depends_on(self) -> Any:
        """The rows themselves: a list of ids may be changed while a run is unfinished."""
        return {"watched": self.watched.tolist()}

    def phases(
        self, model: nn.Module, part: Part, recipe: Recipe, seed: int, meter: Meter, device: torch.device
    ) -> Iterator[Phase]:
        """The usual phase, observed."""
        plain = train_phase(model, part, recipe, seed, meter, device)
        watched, kept = self.watched[torch.isin(self.watched, part.rows)], Kept()
        number, old = 0, dict[str, Tensor]()  # of the batch in hand; θ_old is empty when it holds no watched row

        def step(batch: Batch) -> Losses:
            nonlocal number, old
            rows = part.rows[batch.places]
            mine, number, old = rows[torch.isin(rows, watched)], batch.t, {}
            if len(mine):
                old = {name: p.detach().clone() for name, p in movable(model).items()}
                kept.keep("rows", {str(number): mine})
            return plain.steps[0](batch)

        def after() -> None:
            new = movable(model)
            kept.keep(f"update.{number}", {name: new[name] - old[name] for name in old})

        yield replace(plain, steps=(step,), after=after, modules={"kept": kept})
        header = _header("amnesiac-true", model, part.data, {})
        self.records = TrainingRecords(header=header, tensors={"watched": watched, **kept.tensors})


def find_recorder(
    method: str,
    model: str,
    data: Data,
    *,
    shards: int = 5,
    slices: int = 4,
    watch: Request | str | None = None,
    seed: int = 0,
) -> tuple[Recorder, str]:
    """The recorder for a method, and the architecture to train: for sisa, an ensemble of the model.

    >>> from sublimate.data import load
    >>> find_recorder("sisa", "small-cnn", load("digits"))[1]
    'sisa:5:small-cnn'
    """
    if method not in RECORDED:
        raise unknown(UsageError, "method that needs records named", [method], RECORDED)
    if method == "sisa":
        recorder = SliceRecorder(shards, slices)
        recorder.check(data.sizes[0])  # before so many networks are built
        return recorder, f"sisa:{shards}:{model}"
    if watch is None:
        raise UsageError(
            "amnesiac-true keeps a whole update per batch, and must know for whose sake.",
            "Name the records that may be asked for, say --watch random@1%.",
        )
    return UpdateRecorder(split(data, watch, seed=seed).forget), model


def _header(method: str, model: nn.Module, data: Data, values: dict[str, Any]) -> Header:
    return Header(method=method, network=digest_of(model.state_dict()), data=digest_of_data(data), values=values)
