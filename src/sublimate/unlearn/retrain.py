"""Retrain: forget everything and train on D_r from random weights, the reference of all unlearning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase
from ..training import Recipe, find_recipe, rate
from .base import Unlearner
from .card import Card
from .job import Job


def start_anew(job: Job) -> None:
    """Random weights and fresh buffers; what is frozen is not this training's business, and stays."""
    frozen = {n: p for n, p in job.model.named_parameters(remove_duplicate=False) if not p.requires_grad}
    job.model.load_state_dict(job.fresh("retrain").state_dict() | frozen)
    if frozen:
        job.choices["frozen_kept"] = sorted(frozen)


@dataclass(frozen=True, kw_only=True)
class Retrain(Unlearner):
    """Train on D_r from random weights.

    >>> Retrain(epochs=2).reads(forget=10, retain=90)
    {'retain': 180}
    """

    name = "retrain"
    card = Card(
        title="Retrain",
        source="Cao, Yang: Towards Making Systems Forget with Machine Unlearning, IEEE Symposium on Security and "
        "Privacy, 2015 (as what unlearning is measured by)",
        formula="min E_Dr CE(f(x), y), from random θ",
        memory="P at the start",
        authors={"recipe": "paper"},
        values="paper is App. C of the Siamese paper: 200 epochs.  fast gives a good network in minutes on two cores.",
        pitfalls=(
            "All of D_r is needed: from a few retained records no good network can be trained.",
            "A reference has to be trained as the original was: the same recipe, views and epochs.",
            "Frozen weights stay as they are: a frozen part that has seen D_f makes the result no Retrain.",
        ),
    )
    anew = True
    recipe: Literal["fast", "paper"] = "fast"
    epochs: int | None = None  # None: as many as the recipe has; a shorter run keeps the shape of its schedule
    views: str | View = "simple"

    @property
    def chosen(self) -> Recipe:
        """The recipe, with what shall differ."""
        return find_recipe(self.recipe, epochs=self.epochs, views=self.views)

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_r `epochs` times, nothing of D_f."""
        return {"retain": self.chosen.epochs * one_pass(retain, self.chosen.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_r, as in training."""
        recipe = self.chosen
        start_anew(job)

        def descend(batch: Batch) -> Losses:
            x = job.seen(job.retain, batch, recipe.views)
            return {"ce": F.cross_entropy(job.logits(job.retain, x), batch.y)}

        yield Phase(
            name="retrain",
            over=job.batches(job.retain, recipe.batch_size, fill=LEAST),
            epochs=recipe.epochs,
            steps=(descend,),
            optimizer=torch.optim.SGD(
                [p for p in job.model.parameters() if p.requires_grad],
                lr=recipe.lr,
                momentum=recipe.momentum,
                weight_decay=recipe.weight_decay,
                nesterov=recipe.nesterov,
            ),
            lr=recipe.lr,
            schedule=partial(rate, recipe),
        )
