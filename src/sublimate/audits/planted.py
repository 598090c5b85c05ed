"""Canaries in a request: each that was trained on has a twin that a coin left out, and is judged beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from ..canaries import canary_parts, is_canary
from ..data.core import Data
from ..errors import InputRefused
from ..inference import confidence, predict
from ..splits import Part, Split
from .intervals import auc_interval
from .population import SURE
from .proportions import clopper_pearson
from .result import Gate, Test

Pairs = tuple[Part, Part]
"""Canaries that were trained on, and their twins in the same order."""


@dataclass(frozen=True, eq=False)
class Planted:
    """What is to be judged beside never-seen records, and the canaries of the request, if it names any."""

    split: Split
    pairs: Pairs | None = None
    gates: tuple[Gate, ...] = ()


def set_apart(split: Split, seed: int) -> Planted:
    """Natural records are judged beside natural ones; a request for canaries alone beside their twins.

    Noise and patchwork are not like any natural record: beside one even a network that never saw them looks scarred.
    """
    ids = split.data.ids
    planted = torch.tensor([is_canary(ids[int(row)]) for row in split.forget])
    if not bool(planted.any()):
        return Planted(split)
    natural = replace(split, forget=split.forget[~planted])
    try:
        inside, twins = canary_parts(split.data, 2 * sum(map(is_canary, ids)), seed)
    except InputRefused as refusal:
        why = f"Their twins cannot be made again with seed {seed}: {refusal.cause}"
        if not len(natural.forget):
            remedy = "Give the seed of the training, or other ids to records that are no canaries."
            raise InputRefused(f"The request names canaries. {why}", remedy) from refusal
        says = f"{int(planted.sum())} of the forgotten records are canaries, and cannot be judged. {why}"
        return Planted(natural, gates=(Gate(name="canaries judged", passed=False, says=says),))
    named = torch.isin(inside.rows, split.forget)
    pairs = inside.where(named), twins.where(named)
    return Planted(natural if len(natural.forget) else _beside(split, pairs[1]), pairs)


def pair_tests(model: nn.Module, original: nn.Module, pairs: Pairs) -> list[Test]:
    """Which of two twins was trained on?  A coin decided it, so a guess from what is forgotten is right by chance."""
    mine, theirs = (confidence(predict(model, part), part.labels) for part in pairs)
    labels = pairs[0].labels, pairs[1].labels
    before = [confidence(predict(original, part), part.labels) for part in pairs]
    i = auc_interval(mine, theirs, groups=labels)
    auc = Test(
        name="Canaries, AUC", tier=1, value=i.value, low=i.low, high=i.high, n_forget=i.n, n_control=i.m,
        outcome="reported",
    )  # fmt: skip
    return [auc, coin_test(mine, theirs, was=int((before[0] > before[1]).sum()))]


def coin_test(mine: Tensor, theirs: Tensor, was: int) -> Test:
    """Pairs in which the trained-on twin scores higher; pairs that tie say nothing.  `was`: how many before."""
    from scipy.stats import binomtest  # type: ignore[import-untyped, unused-ignore]

    higher, lower = int((mine > theirs).sum()), int((mine < theirs).sum())
    decided = max(higher + lower, 1)
    share = clopper_pearson(higher, decided, 1 - SURE)
    p = float(binomtest(higher, decided).pvalue) if higher + lower else 1.0
    sure = max(share.low, 1 - share.high) if higher + lower else 0.5  # that a guess is right, at least
    says = f"the planted record scores above its twin that was left out in {higher} of {len(mine)} pairs, {was} before."
    return Test(
        name="Canaries, pairs", tier=1, value=higher / decided if higher + lower else 0.5, low=share.low,
        high=share.high, n_forget=len(mine), n_control=len(theirs), p_different=p,
        outcome="different" if sure > 0.5 else "reported",
        detail={"says": says, "ε": round(max(0.0, math.log(sure / (1 - sure))), 4), "confidence": 1 - SURE},
    )  # fmt: skip


def _beside(split: Split, twins: Part) -> Split:
    """The same split with the twins as its never-seen records; no row changes its number."""
    data, first = split.data, sum(split.data.sizes)
    table = replace(
        data,
        images=partial(_read, data, twins, first),
        labels=torch.cat([data.labels, twins.labels]),
        sizes=(*data.sizes[:2], data.sizes[2] + len(twins)),
        content=None,
    )
    return replace(split, data=table, control=torch.arange(first, first + len(twins)))


def _read(data: Data, twins: Part, first: int, rows: Tensor) -> Tensor:
    x = twins.data.read(twins.rows[(rows - first).clamp(min=0)])[0]
    if bool((rows < first).any()):
        x[rows < first] = data.read(rows[rows < first])[0]
    return x
