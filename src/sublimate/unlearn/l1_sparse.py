"""l1-sparse: fine-tune on D_r while weights that are not needed fade to nil."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase
from .base import Unlearner
from .card import Card
from .job import Job

Penalised = Literal["weights", "all"]


def strength(gamma: float, t: int, T: int, T_no: int) -> float:
    """γ_t = γ·(1 − t/(T − T_no)) in epoch t = 0, 1, …; nil in the last T_no epochs.

    >>> [round(strength(1.0, t, T=6, T_no=2), 2) for t in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    return gamma * (1 - t / (T - T_no)) if t < T - T_no else 0.0


def l1(model: nn.Module, penalised: Penalised) -> Tensor:
    """‖θ‖₁ over what may move: matrices and kernels ("weights"), or also biases and the scales of norms ("all")."""
    chosen = [p for p in model.parameters() if p.requires_grad and (penalised == "all" or p.ndim > 1)]
    return torch.stack([p.abs().sum() for p in chosen]).sum() if chosen else torch.zeros(())


@dataclass(frozen=True, kw_only=True)
class L1Sparse(Unlearner):
    """Fine-tune on D_r while weights that are not needed fade to nil.

    >>> L1Sparse().penalised
    'weights'
    """

    name = "l1-sparse"
    card = Card(
        title="l1-sparse",
        source="Jia, Liu, Ram, Yao, Liu, Liu, Sharma, Liu: Model Sparsity Can Simplify Machine Unlearning, 2023, "
        "arXiv 2304.04934",
        formula="min E_Dr CE(f(x), y) + γ_t·‖θ‖₁, γ_t = γ·(1 − t/(T − T_no)), nil in the last T_no of T epochs",
        authors={
            "lr": 0.01,
            "momentum": 0.9,
            "weight_decay": 5e-4,
            "epochs": 10,
            "batch_size": 256,
            "gamma": 1e-4,
            "no_l1_epochs": 0,
            "penalised": "all",
        },
        values="lr, epochs and batch are the authors'; their public commands leave γ open, and the default of .2 ruins "
        "a network.  γ is that of Wu and Harandi (arXiv 2401.06187); 1e-5 to 5e-4 is worth a try.  Ours: rate, epochs "
        "and batch of Finetune, and a last epoch without penalty, in which accuracy recovers.",
        pitfalls=(
            "γ has to be found for each network: the penalty grows with the number of weights, CE does not.",
            "What remains of Finetune's weakness: with a low rate and a small γ nothing is forgotten.",
        ),
        deviations=(
            "The public code also penalises biases and the scale of batch norm, where l1 turns off whole channels and "
            "undoes what γ means for the weights; ours leaves vectors alone.  penalised=all is the code.",
            "With T_no ≥ T there is no penalty; the code has a constant one at T_no = T.",
        ),
    )
    lr: float = 0.02
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 5  # T
    batch_size: int = 128
    gamma: float = 1e-4
    no_l1_epochs: int = 1  # T_no
    penalised: Penalised = "weights"
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_r `epochs` times, nothing of D_f."""
        return {"retain": self.epochs * one_pass(retain, self.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_r."""
        over = job.batches(job.retain, self.batch_size, fill=LEAST)

        def descend(batch: Batch) -> Losses:
            gamma = strength(self.gamma, batch.t // len(over), self.epochs, self.no_l1_epochs)
            z = job.logits(job.retain, job.seen(job.retain, batch, self.views))
            return {"ce": F.cross_entropy(z, batch.y), "l1": gamma * l1(job.model, self.penalised)}

        yield Phase(
            name="l1-sparse",
            over=over,
            epochs=self.epochs,
            steps=(descend,),
            optimizer=self.sgd([job.model]),
            lr=self.lr,
        )
