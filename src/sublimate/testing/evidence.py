"""False evidence for an audit: references that saw what they should not, controls from training, broken scores."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from ..data.core import Data
from ..inference import confidence, device_of
from ..models.reset import reset
from ..randomness import stream
from ..request import Records
from ..splits import Part, Split, split
from ..training import RECIPES, Recipe, fit

Scorer = Callable[[Tensor, Tensor], Tensor]
"""Logits and labels -> one score per record, like `inference.confidence`."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What is handed in as a Retrain, and the fingerprint that it claims."""

    model: nn.Module
    split: str


def contaminated_reference(
    original: nn.Module, given: Split, seed: int = 0, share: float = 0.5, recipe: Recipe = RECIPES["fast"]
) -> Reference:
    """A Retrain that saw a share of the forgotten records, under the right fingerprint."""
    order = torch.randperm(len(given.forget), generator=stream(seed, "sabotage", "contaminate"))
    leaked = given.forget[order[: max(1, round(share * len(order)))]]
    rows = torch.cat([given.retain, leaked]).sort().values
    return Reference(trained(original, Part(given.data, rows, "retain"), seed, recipe), given.fingerprint)


def foreign_reference(original: nn.Module, given: Split, seed: int = 0, recipe: Recipe = RECIPES["fast"]) -> Reference:
    """An honest Retrain of another split: it saw all of the forgotten records."""
    other = elsewhere(given, torch.cat([given.retain, given.forget]), seed)
    return Reference(trained(original, other.retain_set, seed, recipe), other.fingerprint)


def trained(original: nn.Module, part: Part, seed: int, recipe: Recipe) -> nn.Module:
    """A network of the same kind, trained on a part from random weights."""

    def fresh() -> nn.Module:
        network = copy.deepcopy(original)
        reset(network)
        return network

    return fit(fresh, part, recipe, seed=seed, device=device_of(original))[0]


def elsewhere(given: Split, among: Tensor, seed: int) -> Split:
    """The split of a request for as many other, retained records, as if there were only the rows `among`."""
    data, most = given.data, min(len(given.forget), len(given.retain) // 2)
    drawn = torch.randperm(len(given.retain), generator=stream(seed, "sabotage", "elsewhere"))[:most]
    request = Records(*(data.ids[int(row)] for row in given.retain[drawn]))
    absent = data.train[~torch.isin(data.train, among)]
    return split(data, request, len(given.few), seed, exclude=[data.ids[int(row)] for row in absent])


def leaky_control(original: nn.Module, given: Split, seed: int = 0, share: float = 1.0) -> Split:
    """A share of the control records are training records of the same class."""
    return replace(given, control=_leaked(given, seed, share))


def copied_control(original: nn.Module, given: Split, seed: int = 0, share: float = 1.0) -> Split:
    """The same, but the leak is in the data: test rows that are copies of training images."""
    source = torch.arange(sum(given.data.sizes))
    source[given.control] = _leaked(given, seed, share)
    return replace(given, data=replace(given.data, images=partial(_read, given.data, source)))


def _read(data: Data, source: Tensor, rows: Tensor) -> Tensor:
    return data.read(source[rows])[0]


def _leaked(given: Split, seed: int, share: float) -> Tensor:
    """The control rows, of each class a share replaced by training rows of it: retained ones where there are any."""
    control, labels = given.control.clone(), given.data.labels
    for k in labels[control].unique():
        kept, gone = (rows[labels[rows] == k] for rows in (given.retain, given.forget))
        pool = kept if len(kept) else gone
        places, g = (labels[control] == k).nonzero().flatten(), stream(seed, "sabotage", "leak", int(k))
        count = min(len(pool), round(share * len(places)))
        drawn = torch.randperm(len(pool), generator=g)[:count]
        control[places[torch.randperm(len(places), generator=g)[:count]]] = pool[drawn]
    return control


def constant_scorer(original: nn.Module, given: Split, seed: int = 0) -> Scorer:
    """Every record scores the same."""
    return lambda z, _: torch.zeros(len(z), dtype=torch.double)


def random_scorer(original: nn.Module, given: Split, seed: int = 0) -> Scorer:
    """Scores are drawn, whatever the network answers."""
    g = stream(seed, "sabotage", "scores")
    return lambda z, _: torch.rand(len(z), dtype=torch.double, generator=g)


def reversed_scorer(original: nn.Module, given: Split, seed: int = 0) -> Scorer:
    """The confidence with its sign reversed."""
    return lambda z, y: -confidence(z, y)
