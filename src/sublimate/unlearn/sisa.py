"""SISA (Bourtoule et al.): shards that are trained apart, slice by slice, so that a deletion retrains little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..errors import InputRefused
from ..models.ensemble import Ensemble
from ..phase import Phase
from ..records import Kept, check_records
from ..training import RECIPES
from .base import Unlearner
from .card import Card
from .job import Job
from .slices import GONE, Slicing


@dataclass(frozen=True, kw_only=True)
class Sisa(Unlearner):
    """Retrain the touched shards from their first touched slice on, without D_f; the other shards stay.

    All hyper-parameters are those of the training, which the records tell; the result equals training without D_f.

    >>> Sisa().few
    'all'
    """

    name = "sisa"
    anew = True  # a shard that begins again is no collapse
    needs_records = True
    card = Card(
        title="SISA",
        source="Bourtoule, Chandrasekaran, Choquette-Choo, Jia, Travers, Zhang, Lie, Papernot: Machine Unlearning, "
        "2021, arXiv 1912.03817",
        formula="θ_s,r = train(θ_s,r−1; slices 1..r of shard s)   x in slice q of shard s: again from θ_s,q−1 for "
        "r = q..R, without x   p(y|x) = 1/S Σ_s softmax f(x; θ_s,R)",
        memory="S·R·P, in the records",
        values="S shards and R slices are chosen at training (train --for sisa --shards 5 --slices 4); e epochs of the "
        "recipe make 2e/(R+1) per slice, as in the paper.  Code: 20 epochs, batch 16, SGD 1e-3 on Purchase.",
        pitfalls=(
            "A network that was trained otherwise cannot be converted.",
            "A request that touches all shards (a class, random 10 %) saves nothing.",
            "More shards learn less each: accuracy falls with S.",
            'With norm="eval", or with weights that were frozen since training, it is not exact.',
            "The old records hold what was forgotten: replace them by the new ones, and delete them.",
            "It needs all retained records of the touched shards; a smaller retain set is refused, not approximated.",
        ),
        deviations=(
            "A fresh optimizer and schedule for each slice; the code keeps one over slices but saves none, so that its "
            "deletion differs from training with Adam.",
            "Rows are shuffled in each epoch, by a seed of shard and slice; the code reads them in file order.",
            "The mean of softmaxes; the code's default is the majority vote.",
            "A remainder of N mod S·R is dealt out; nobody is lost.",
        ),
    )

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """The touched shards' slices: how often, the records tell; at most as much as a training by recipe fast."""
        return {"retain": RECIPES["fast"].epochs * retain}

    def phases(self, job: Job) -> Iterator[Phase]:
        """The phases of training from the first touched slice on; afterwards `job.records` are the new ones."""
        records = check_records(job.records, self.name, job.original, job.forget.data, job.retain.data)
        before = Slicing.of(records)
        if not isinstance(job.model, Ensemble) or len(job.model.shards) != before.shards:
            raise InputRefused("The network is no ensemble of shards.", "Give the one that was trained for sisa.")
        _check_trained(job, before)
        first, after = before.first(job.forget.rows), before.without(job.forget.rows)
        _check_complete(job, after, first)
        kept = Kept({name: t for name, t in records.tensors.items() if _still_true(name, first)})
        job.choices["retrained"] = {
            f"shard {s + 1}": f"from slice {r + 1}" for s, r in enumerate(first) if r < before.slices
        }
        yield from after.phases(job.model, job.retain.data, first, kept, job.meter, job.device)
        job.records = records.after(job.model, {**kept.tensors, "cells": after.cells})


def _still_true(name: str, first: list[int]) -> bool:
    """Whether a kept state comes from before the first touched slice."""
    if not name.startswith("state."):
        return False
    _, s, r, _ = name.split(".", 3)
    return int(r) <= first[int(s)]


def _check_trained(job: Job, slicing: Slicing) -> None:
    rows = job.forget.rows
    known = rows[rows < len(slicing.cells)]
    if strange := len(rows) - int((slicing.cells[known] != GONE).sum()):
        raise InputRefused(
            f"{strange} of the records to forget are in no slice: the network was not trained on them.",
            "Leave out what was forgotten earlier.",
        )


def _check_complete(job: Job, slicing: Slicing, first: list[int]) -> None:
    last = slicing.slices - 1
    needed = torch.cat([slicing.rows(s, last) for s, r in enumerate(first) if r <= last])
    if missing := int((~torch.isin(needed, job.retain.rows)).sum()):
        raise InputRefused(
            f"The retain set lacks {missing} of {len(needed)} records of the shards that must be retrained.",
            'Give all retained records: few="all".',
        )
