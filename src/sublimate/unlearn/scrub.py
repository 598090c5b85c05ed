"""SCRUB and SCRUB+R (Kurmanji, P. Triantafillou, Hayes, E. Triantafillou): leave the teacher on D_f, obey it on D_r."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase
from ..splits import Part
from .badt import kl
from .base import Unlearner
from .card import Card
from .job import Job
from .rewind import Rewind


def distillation(t: Tensor, s: Tensor, tau: float) -> Tensor:
    """τ²·KL(T‖S) at temperature τ: the factor keeps the size of the gradient."""
    return tau**2 * kl(t, s, tau)


@dataclass(frozen=True, kw_only=True)
class Scrub(Unlearner):
    """Max passes away from the teacher on D_f, each followed by a min pass back to it on D_r.

    >>> Scrub(epochs=3, msteps=2).reads(5000, 45_000)
    {'forget': 10000, 'retain': 135000}
    >>> Scrub(lr=1.0, decay_epochs=(3, 5), decay=0.1).rate(4)
    0.1
    """

    name = "scrub"
    card = Card(
        title="SCRUB",
        source="Kurmanji, P. Triantafillou, Hayes, E. Triantafillou: Towards Unbounded Machine Unlearning, NeurIPS "
        "2023, arXiv 2302.09880",
        formula="T = θ₀   epoch e ≤ msteps: max over D_f KL_τ(T‖S)   every epoch: min over D_r γ·CE(S, y) + α·KL_τ(T‖S)"
        "   KL_τ = τ²·KL of softmaxes at τ   rewind: the epoch whose error on D_f is nearest to the last network's "
        "error on never-seen records of the same classes",
        memory="P, with rewind P more per epoch",
        authors={"lr": 5e-4, "momentum": 0.9, "weight_decay": 5e-4, "epochs": 3, "msteps": 2, "alpha": 0.001}
        | {"gamma": 0.99, "tau": 4.0, "batch_size": 128, "forget_batch_size": 512, "decay_epochs": (3, 5, 9)}
        | {"decay": 0.1},
        values="The authors' are those of their large CIFAR-10 notebook.  Others of theirs: VGG16 α .01, 10 epochs, "
        "forget batch 16; ResNet50 Adam, α .5, γ 1, 5 epochs, msteps 5; MIA α .5, γ 1, msteps 3, 5 epochs, batches "
        "32/16.  Ours has the rate and the number of max steps of the former and the hold on D_r of the latter.",
        pitfalls=(
            "At S = T the KL has no gradient: the first max pass lives on what batch norm or dropout makes differ, and "
            'with norm="eval" only a min pass sets it going.',
            "KL against a confident teacher has no upper bound: a max pass too many, or too fast, ruins the network.",
            "The forget batch size sets the number of max steps: it is a hyper-parameter.",
            "SCRUB+R is rewind=True.  It needs val and is meant for privacy, where too much error is also a trace.",
            "Rewinding to epoch 0 is legal: the run then ends with the error that nothing changed.",
        ),
        deviations=(
            "Rewind takes the nearest error by absolute difference, as the newer notebooks do; of equals the last.",
            "Whatever is chosen is chosen on val, never on test.",
        ),
    )
    lr: float = 5e-4
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 3
    msteps: int = 2  # epochs that begin with a max pass
    alpha: float = 0.5
    gamma: float = 1.0
    tau: float = 4.0
    batch_size: int = 128  # of D_r
    forget_batch_size: int = 512
    decay_epochs: tuple[int, ...] = (3, 5, 9)  # after each of them
    decay: float = 0.1
    rewind: bool = False
    views: str | View = "simple"

    def __post_init__(self) -> None:
        if isinstance(self.decay_epochs, list):  # as preset files and the command line have it
            object.__setattr__(self, "decay_epochs", tuple(self.decay_epochs))
        super().__post_init__()

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1."""
        return self.lr * self.decay ** sum(epoch > passed for passed in self.decay_epochs)

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f in every max pass, D_r in every epoch."""
        gone, kept = one_pass(forget, self.forget_batch_size, LEAST)[1], one_pass(retain, self.batch_size, LEAST)[1]
        return {"forget": min(self.msteps, self.epochs) * gone, "retain": self.epochs * kept}

    def phases(self, job: Job) -> Iterator[Phase]:
        """Per epoch a max pass while e ≤ msteps, and a min pass; one optimizer for all."""
        teacher, optimizer = job.teacher(), self.sgd([job.model])
        rewind = Rewind(job, self.epochs) if self.rewind else None
        forget = job.batches(job.forget, self.forget_batch_size, fill=LEAST)
        retain = job.batches(job.retain, self.batch_size, fill=LEAST)

        def both(part: Part, batch: Batch) -> tuple[Tensor, Tensor]:
            x = job.seen(part, batch, self.views)
            with torch.no_grad():
                t = job.logits(part, x, teacher)
            return t, job.logits(part, x)

        def leave(batch: Batch) -> Losses:
            return {"max kl": -distillation(*both(job.forget, batch), self.tau)}

        def obey(batch: Batch) -> Losses:
            t, s = both(job.retain, batch)
            return {
                "ce": self.gamma * F.cross_entropy(s, batch.y),
                "min kl": self.alpha * distillation(t, s, self.tau),
            }

        for e in range(1, self.epochs + 1):
            shared: dict[str, Any] = {"epochs": 1, "optimizer": optimizer, "lr": self.rate(e)}
            shared["modules"] = {"rewind": rewind} if rewind else {}
            if e <= self.msteps:
                yield Phase(name=f"max {e}", over=forget, steps=(leave,), first=(e - 1) * len(forget), **shared)
            keep = partial(rewind.keep, e) if rewind else None
            first = (e - 1) * len(retain)
            yield Phase(name=f"min {e}", over=retain, steps=(obey,), first=first, finish=keep, **shared)
