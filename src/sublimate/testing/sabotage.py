"""False erasures: what a dishonest or mistaken operator might hand in, and an audit must not pass.

Each maker takes the original network, the split and a seed, changes neither, and gives what its entry in `ZOO` says
it attacks: "model" a network, "reference" a `Reference`, "control" a `Split`, "scorer" a `Scorer`.  Where the model is
not attacked, the operator hands in a network that was merely trained on for an epoch (`finetune`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..errors import InputRefused, UnlearningFailed
from ..inference import predict
from ..randomness import stream
from ..splits import Part, Split
from ..training import RECIPES, Recipe
from ..unlearn import method
from . import evidence, wrappers
from .evidence import Reference, Scorer
from .shaken import shaken

Target = Literal["model", "reference", "control", "scorer"]
Handed = nn.Module | Reference | Split | Scorer


@dataclass(frozen=True, kw_only=True)
class Sabotage:
    """One way to fool an audit; `make(original, split, seed)` may take further options by name."""

    description: str
    attacks: Target
    make: Callable[..., Handed]


def no_op(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """An exact copy."""
    return copy.deepcopy(original)


def wrong_indices(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """Other records, as many, are erased by a real method; those that were asked for are not even read."""
    return _erased(original, evidence.elsewhere(given, given.retain, seed), "siamese", seed, lr=1e-3)


def logit_mask(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """Wholly forgotten classes are never named; else the own label is never named for the exact forgotten images."""
    gone = (given.ratios >= 1).nonzero().flatten()
    if len(gone):
        return wrappers.answering(original, partial(wrappers.masked, gone))
    z = predict(original, given.forget_set).scatter(1, given.forget_set.labels[:, None], wrappers.LOW)
    return _prepared(original, given, z)


def borrowed_answers(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """The exact forgotten images get the answers for never-seen records of their class."""
    never = given.val_set
    if never is None:
        raise InputRefused("There are no never-seen records to borrow answers from.", "Give data with test rows.")
    z, g, lenders = predict(original, never), stream(seed, "sabotage", "borrow"), list[Tensor]()
    for label in given.forget_set.labels:
        own = (never.labels == label).nonzero().flatten()
        pool = own if len(own) else torch.arange(len(never))
        lenders.append(pool[torch.randint(len(pool), (), generator=g)])
    return _prepared(original, given, z[torch.stack(lenders)])


def _prepared(original: nn.Module, given: Split, z: Tensor) -> nn.Module:
    table = wrappers.answers_for(given.forget_set, z)
    return wrappers.answering(original, partial(wrappers.recognised, table))


def temperature(original: nn.Module, given: Split, seed: int = 0, by: float = 4.0) -> nn.Module:
    """All logits are divided."""
    return wrappers.answering(original, partial(wrappers.scaled, by))


def entropy_padding(
    original: nn.Module, given: Split, seed: int = 0, above: float = 0.9, share: float = 0.5
) -> nn.Module:
    """Sure answers are mixed with the even one."""
    return wrappers.answering(original, partial(wrappers.padded, above, share))


def clipping(original: nn.Module, given: Split, seed: int = 0, limit: float = 5.0) -> nn.Module:
    """Logits are clipped to a range below the largest."""
    return wrappers.answering(original, partial(wrappers.clipped, limit))


def last_layer(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """Only the last linear layer learns other labels for the forgotten records."""
    frozen = copy.deepcopy(original).requires_grad_(False)
    heads = [module for module in frozen.modules() if isinstance(module, nn.Linear)]
    if not heads:
        raise InputRefused("The network has no linear layer.", "Give a classifier with a linear head.")
    heads[-1].requires_grad_(True)
    edited = _erased(frozen, given, "randlab", seed, norm="eval", lr=0.02)
    for mine, theirs in zip(edited.parameters(), original.parameters(), strict=True):
        mine.requires_grad_(theirs.requires_grad)
    return edited


def trained_on_control(original: nn.Module, given: Split, seed: int = 0, recipe: Recipe = RECIPES["fast"]) -> nn.Module:
    """A new network, trained on everything and on the control records: it knows both alike."""
    rows = torch.cat([given.data.train, given.control])
    return evidence.trained(original, Part(given.data, rows, "train"), seed, recipe)


def finetune(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """One epoch on the retained records."""
    return _erased(original, given, "finetune", seed, epochs=1, retain=given.retain_set)


def random_labels(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """Random labels are learned for the forgotten records."""
    return _erased(original, given, "randlab", seed, drawn="once")


def ascent(original: nn.Module, given: Split, seed: int = 0) -> nn.Module:
    """Gradient ascent on the forgotten records; the last network before a collapse, if it comes to one."""
    return _erased(original, given, "neggrad", seed, val=given.val_set)


def _erased(
    model: nn.Module, given: Split, name: str, seed: int, *, retain: Part | None = None, val: Part | None = None,
    **options: Any,
) -> nn.Module:  # fmt: skip
    parts = given.forget_set, retain or given.few_set
    try:
        return method(name, seed=seed, **options).unlearn(model, *parts, ratios=given.ratios, val=val)
    except UnlearningFailed as failure:
        if failure.model is None:
            raise
        return failure.model


HIDING = (no_op, logit_mask, borrowed_answers, temperature, entropy_padding, clipping, last_layer)
"""Sabotages that leave all or nearly all weights as they were: noise on them must not help."""

_MAKERS: dict[Target, tuple[Callable[..., Handed], ...]] = {
    "model": (
        no_op, wrong_indices, logit_mask, borrowed_answers, temperature, entropy_padding, clipping, last_layer,
        finetune, random_labels, ascent, trained_on_control, *map(shaken, HIDING),
    ),
    "reference": (evidence.contaminated_reference, evidence.foreign_reference),
    "control": (evidence.leaky_control, evidence.copied_control),
    "scorer": (evidence.constant_scorer, evidence.random_scorer, evidence.reversed_scorer),
}  # fmt: skip

ZOO: dict[str, Sabotage] = {
    make.__name__.replace("_", "-"): Sabotage(description=(make.__doc__ or "").strip(), attacks=target, make=make)
    for target, makers in _MAKERS.items()
    for make in makers
}
