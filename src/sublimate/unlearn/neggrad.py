"""NegGrad: ascend on D_f, each record only until it is worse than a guess."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch.nn.functional as F
from torch import Tensor

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase
from .base import Unlearner
from .card import Card
from .job import Job


def capped(z: Tensor, y: Tensor, margin: float | None) -> Tensor:
    """E min(CE, log K + margin): a record beyond the cap has no gradient.  Without a margin, plain CE.

    >>> import torch
    >>> capped(torch.tensor([[0.0, 9.0]]), torch.tensor([0]), margin=1.0)  # CE = 9.0001, the cap is log 2 + 1
    tensor(1.6931)
    """
    ce = F.cross_entropy(z, y, reduction="none")
    return (ce if margin is None else ce.clamp(max=math.log(z.shape[1]) + margin)).mean()


@dataclass(frozen=True, kw_only=True)
class NegGrad(Unlearner):
    """Ascend on D_f, each record only until it is worse than a guess.

    >>> NegGrad(margin=2.0).norm
    'eval'
    """

    name = "neggrad"
    card = Card(
        title="NegGrad",
        source="Golatkar, Achille, Soatto: Eternal Sunshine of the Spotless Net: Selective Forgetting in Deep "
        "Networks, 2020, arXiv 1911.04933 (as a baseline); also called gradient ascent",
        formula="max E_Df min(CE(f(x), y), log K + margin), from θ₀",
        authors={
            "norm": "train",
            "lr": 1e-4,
            "momentum": 0.9,
            "weight_decay": 5e-4,
            "epochs": 5,
            "batch_size": 256,
            "margin": None,
        },
        values="The values of the comparison in Jia et al. 2023 (arXiv 2304.04934), without a cap.  Ours: a higher "
        "rate, since 1e-4 hardly moves a small network within 5 epochs (a request of many batches needs fewer), "
        "and batches of 128, as elsewhere here.",
        pitfalls=(
            "CE has no upper bound: without the cap divergence is the rule, not the exception.",
            "Nothing holds what shall stay: D_r is never read.",
            "In train mode the batch norms' statistics become those of D_f alone, and the rest is lost.",
        ),
        deviations=(
            "The cap, per record: those that are forgotten rest while the others go on; margin=None is without.",
            "norm is eval: see the last pitfall.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    lr: float = 5e-4
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 5  # over D_f
    batch_size: int = 128
    margin: float | None = 1.0  # of the cap, above the loss of a guess; None: no cap
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f `epochs` times, nothing of D_r."""
        return {"forget": self.epochs * one_pass(forget, self.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_f."""

        def ascend(batch: Batch) -> Losses:
            x = job.seen(job.forget, batch, self.views)
            return {"ascent": -capped(job.logits(job.forget, x), batch.y, self.margin)}

        yield Phase(
            name="neggrad",
            over=job.batches(job.forget, self.batch_size, fill=LEAST),
            epochs=self.epochs,
            steps=(ascend,),
            optimizer=self.sgd([job.model]),
            lr=self.lr,
        )
