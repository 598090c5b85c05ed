"""Amnesiac unlearning proper (Graves et al.): take back the updates of the batches that held D_f, then repair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.batches import LEAST, Batch, Blank, one_pass
from ..data.views import View
from ..errors import InputRefused
from ..phase import Losses, Phase
from ..records import check_records, under
from .base import Unlearner
from .card import Card
from .gradients import movable
from .job import Job


def touched(tensors: Mapping[str, Tensor], forget: Tensor) -> list[str]:
    """Numbers of the kept updates whose batch held any of these rows, each once.

    >>> touched({"rows.4": torch.tensor([7]), "rows.9": torch.tensor([7, 8])}, torch.tensor([8]))
    ['9']
    """
    batches = ((name.removeprefix("rows."), t) for name, t in tensors.items() if name.startswith("rows."))
    return [b for b, rows in batches if bool(torch.isin(rows, forget).any())]


@torch.no_grad()
def subtract(model: nn.Module, updates: Iterable[Mapping[str, Tensor]]) -> None:
    """θ ← θ − Σ_b Δ_b, in place."""
    parameters = movable(model)
    for update in updates:
        for name, delta in update.items():
            if name in parameters:
                parameters[name].sub_(delta.to(parameters[name].device))


@dataclass(frozen=True, kw_only=True)
class AmnesiacTrue(Unlearner):
    """Subtract the kept updates of all batches that held any of D_f, then descend on D_r for a few epochs."""

    name = "amnesiac-true"
    needs_records = True
    card = Card(
        title="Amnesiac (true form)",
        source="Graves, Nagisetty, Ganesh: Amnesiac Machine Learning, 2021, arXiv 2010.10981",
        formula="θ ← θ − Σ_{b: b ∩ D_f ≠ ∅} Δ_b,  Δ_b = θ_new − θ_old of batch b at training;  then min E_Dr CE(z, y)",
        memory="P per batch that held watched records, in the records",
        authors={"lr": 1e-3, "epochs": 10, "batch_size": 64},
        values="Repair: 10 epochs, Adam 1e-3, batch 64 (the code).  Ours has 3 epochs: on digits with small-cnn, "
        "with 61 of 180 updates taken back, they end at 98.9 % on the test set (original 99.4 %, with 1e-4 97.8 %).",
        pitfalls=(
            "Which records may be asked for must be known at training (train --for amnesiac-true --watch REQUEST).",
            "Random 10 % of a data set touch every batch: only for small D_f.",
            "With momentum Δ_b holds earlier batches, and later updates answered to Δ_b: it is not exact.",
            "Running statistics of batch norm are not taken back; the repair moves them on.",
        ),
    )
    lr: float = 1e-3
    epochs: int = 3  # of repair
    batch_size: int = 128
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """Nothing of D_f: the records tell its batches."""
        return {"retain": self.epochs * one_pass(retain, self.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """Subtract, repair; afterwards `job.records` are those of the updates that are left."""
        records = check_records(job.records, self.name, job.original, job.forget.data, job.retain.data)
        watched = records.tensor("watched")
        if unknown := int((~torch.isin(job.forget.rows, watched)).sum()):
            raise InputRefused(
                f"{unknown} of the records to forget were not watched at training: their updates were not kept.",
                "Train again and watch them, or use another method.",
            )
        gone = touched(records.tensors, job.forget.rows)
        job.choices["updates_subtracted"] = len(gone)

        def take_back(_: Batch) -> Losses:
            subtract(job.model, (under(records.tensors, f"update.{b}") for b in gone))
            return {}

        def repair(batch: Batch) -> Losses:
            z = job.logits(job.retain, job.seen(job.retain, batch, self.views))
            return {"ce retain": F.cross_entropy(z, batch.y)}

        yield Phase(name="subtract", over=Blank(1), epochs=1, steps=(take_back,))
        yield Phase(
            name="repair",
            over=job.batches(job.retain, self.batch_size, fill=LEAST),
            epochs=self.epochs,
            steps=(repair,),
            optimizer=self.adam([job.model]),
            lr=self.lr,
        )
        left = {n: t for n, t in records.tensors.items() if n.partition(".")[2].partition(".")[0] not in gone}
        job.records = records.after(job.model, left | {"watched": watched[~torch.isin(watched, job.forget.rows)]})
