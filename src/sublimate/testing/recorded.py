"""Toy networks with records of their training, for methods that need them: `Case(setup=sharded)`."""

from __future__ import annotations

import copy

from torch import nn

from ..models.ensemble import Ensemble
from ..models.reset import reset
from ..recording import SliceRecorder, UpdateRecorder
from ..records import TrainingRecords
from ..splits import Part
from ..training import Recipe, fit
from .toy import Toy

RECIPE = Recipe(epochs=4, batch_size=32, lr=0.05, weight_decay=1e-4, schedule="one-cycle", warmup=1)


def sharded(toy: Toy) -> tuple[nn.Module, TrainingRecords | None]:
    """Two shards of two slices, for sisa."""
    recorder = SliceRecorder(shards=2, slices=2)
    network, _ = fit(lambda: Ensemble([_fresh(toy), _fresh(toy)]), _all(toy), RECIPE, phases=recorder.phases)
    return network, recorder.records


def watched(toy: Toy) -> tuple[nn.Module, TrainingRecords | None]:
    """Every record watched, for amnesiac-true."""
    recorder = UpdateRecorder(toy.data.train)
    network, _ = fit(lambda: _fresh(toy), _all(toy), RECIPE, phases=recorder.phases)
    return network, recorder.records


def _fresh(toy: Toy) -> nn.Module:
    network = copy.deepcopy(toy.model)
    reset(network)
    return network


def _all(toy: Toy) -> Part:
    return Part(toy.data, toy.data.train, "train")
