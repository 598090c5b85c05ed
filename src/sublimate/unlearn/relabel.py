"""Random labels for D_f: how they are drawn, and how they are learned beside the true ones of D_r."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import LEAST, Batch, Batches, Blank, one_pass
from ..data.views import View
from ..phase import Losses, Step
from .job import Job, mixed_share
from .labels import another
from .mixing import joint_logits

Labels = Literal["retained", "others", "all"]
Drawn = Literal["once", "epoch"]
Relabel = Callable[[Batch, int], Tensor]  # a batch of D_f and the number of the epoch -> ỹ


def random_labels(y: Tensor, ratios: Tensor, labels: Labels, generator: torch.Generator) -> Tensor:
    """ỹ, evenly among all K classes, the K−1 others, or those others that are not wholly forgotten ("retained").

    Where no such class is left, "retained" draws among the others: the label never stays.

    >>> random_labels(torch.tensor([0, 1]), torch.tensor([0.1, 1.0]), "retained", torch.Generator())
    tensor([1, 0])
    """
    if labels == "all":
        return torch.randint(len(ratios), y.shape, generator=generator)
    other = another(y, torch.ones_like(ratios, dtype=torch.bool), generator)
    if labels == "others":
        return other
    kept = another(y, ratios < 1, generator)
    return torch.where(kept == y, other, kept)


def relabelled(job: Job, labels: Labels, drawn: Drawn) -> Relabel:
    """ỹ of each record of D_f, drawn once for the run or anew in every epoch."""

    @lru_cache(maxsize=1)
    def draw(number: int) -> Tensor:
        return random_labels(job.forget.labels, job.ratios, labels, job.stream("labels", number))

    return lambda batch, epoch: draw(0 if drawn == "once" else epoch)[batch.places].to(job.device)


def joint(job: Job, size: int, relabel: Relabel, views: str | View) -> tuple[Batches, Step]:
    """A pass over D_r with D_f mixed in by proportion; the loss is the mean over the mixed batch."""
    retain, forget = job.mixed(size)

    def learn(batch: Batch) -> Losses:
        gone = forget.at(batch.t)
        z_r, z_f = joint_logits(job, batch, gone, views)
        rows = len(z_r) + len(z_f)
        wrong = relabel(gone, batch.t // len(retain))
        return {
            "ce retain": F.cross_entropy(z_r, batch.y, reduction="sum") / rows,
            "ce forget": F.cross_entropy(z_f, wrong, reduction="sum") / rows,
        }

    return retain, learn


def joint_reads(forget: int, retain: int, size: int) -> dict[str, int]:
    """What one joint pass reads."""
    batches, rows = one_pass(retain, mixed_share(retain, forget, size))
    return {"forget": batches * min(forget, mixed_share(forget, retain, size)), "retain": rows}


def forget_first(job: Job, size: int, relabel: Relabel, views: str | View) -> tuple[Blank, Step]:
    """A pass over D_f, then one over D_r: together one epoch, since the first alone leaves a network in disorder."""
    forget, retain = (job.batches(part, size, fill=LEAST) for part in (job.forget, job.retain))
    turns = len(forget) + len(retain)

    def learn(turn: Batch) -> Losses:
        epoch, k = divmod(turn.t, turns)
        if k < len(forget):
            batch = forget.at(epoch * len(forget) + k)
            z = job.logits(job.forget, job.seen(job.forget, batch, views))
            return {"ce forget": F.cross_entropy(z, relabel(batch, epoch))}
        batch = retain.at(epoch * len(retain) + k - len(forget))
        return {"ce retain": F.cross_entropy(job.logits(job.retain, job.seen(job.retain, batch, views)), batch.y)}

    return Blank(turns), learn
