"""Finetune: descend on D_r; what is not rehearsed fades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase, constant, cosine
from .base import Unlearner
from .card import Card
from .job import Job


@dataclass(frozen=True, kw_only=True)
class Finetune(Unlearner):
    """Descend on D_r; what is not rehearsed fades.

    >>> Finetune(epochs=1).lr
    0.02
    """

    name = "finetune"
    card = Card(
        title="Finetune",
        source="Golatkar, Achille, Soatto: Eternal Sunshine of the Spotless Net: Selective Forgetting in Deep "
        "Networks, 2020, arXiv 1911.04933 (as a baseline)",
        formula="min E_Dr CE(f(x), y), from θ₀",
        authors={"lr": 0.02, "momentum": 0.9, "weight_decay": 5e-4, "epochs": 5, "batch_size": 64},
        values="The values of the comparison in Foster et al. 2024 (arXiv 2308.07707).  Others: .01, 10 epochs, batch "
        "256 (Jia et al., arXiv 2304.04934); .01 to .04, 10 epochs, no momentum (Kurmanji et al., arXiv 2302.09880); "
        ".1 with cosine, 5 epochs (NeurIPS 2023 challenge).  Ours: batches of 128, which take half the updates.",
        pitfalls=(
            "With a low rate it forgets nothing: good accuracy, bad audit.  With a very high one it is nearly Retrain.",
            "Records whose class remains are hardly forgotten: the class still speaks for them.",
        ),
    )
    lr: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 5
    batch_size: int = 128
    views: str | View = "simple"
    schedule: Literal["constant", "cosine"] = "constant"  # "cosine": the learning rate falls to nil

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_r `epochs` times, nothing of D_f."""
        return {"retain": self.epochs * one_pass(retain, self.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_r."""

        def descend(batch: Batch) -> Losses:
            x = job.seen(job.retain, batch, self.views)
            return {"ce": F.cross_entropy(job.logits(job.retain, x), batch.y)}

        yield Phase(
            name="finetune",
            over=job.batches(job.retain, self.batch_size, fill=LEAST),
            epochs=self.epochs,
            steps=(descend,),
            optimizer=self.sgd([job.model]),
            lr=self.lr,
            schedule=cosine if self.schedule == "cosine" else constant,
        )
