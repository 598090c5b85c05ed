"""Selective synaptic dampening (Foster, Schoepf, Brintrup): shrink the weights that matter to D_f far more than to D.

Letters follow the paper: I_D and I_f are importances, α selects, λ dampens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ..data.batches import Batch, Batches, one_pass
from ..inference import prepare
from ..phase import Losses, Phase
from .base import Unlearner
from .card import Card
from .gradients import Sums, Tensors, movable, summed_gradients, summed_over_samples
from .job import Job, mixed_share
from .search import Strength, settled

# The mildest first.
ALPHAS: tuple[float, ...] = (100, 50, 30, 20, 14, 10, 8, 7, 6, 5, 4.5, 4, 3.5, 3, 2.5, 2, 1.7, 1.4, 1.2, 1)
Importance = Literal["per_sample", "per_batch", "label_free"]


def dampened(theta: Tensor, I_D: Tensor, I_f: Tensor, alpha: float, lam: float) -> Tensor:
    """θ·min(λ·I_D / I_f, 1) where I_f > α·I_D; what neither needs (0/0) is not selected.

    >>> dampened(torch.ones(3), torch.tensor([1.0, 1.0, 0.0]), torch.tensor([20.0, 5.0, 0.0]), alpha=10, lam=1)
    tensor([0.0500, 1.0000, 1.0000])
    """
    return torch.where(I_f > alpha * I_D, theta * (lam * I_D / I_f).clamp(max=1), theta)


def squared_norm(z: Tensor, target: Tensor) -> Tensor:
    """Σ ‖f(x)‖²: what the label-free importance differentiates."""
    return z.square().sum()


def importance(model: nn.Module, x: Tensor, y: Tensor, kind: Importance) -> tuple[Tensors, int]:
    """What a batch adds to an importance, and what it counts: a record each, or the batch once."""
    if kind == "per_sample":
        return summed_over_samples(model, x, y), len(y)
    if kind == "label_free":
        return summed_over_samples(model, x, y, squared_norm, torch.abs), len(y)
    return {name: (g / len(y)).square() for name, g in summed_gradients(model, x, y).items()}, 1


@dataclass(frozen=True, kw_only=True)
class Ssd(Unlearner):
    """Dampen what matters to D_f alone; no training.

    >>> Ssd(alpha=10.0).importance
    'per_sample'
    """

    name = "ssd"
    card = Card(
        title="Selective synaptic dampening",
        source="Foster, Schoepf, Brintrup: Fast Machine Unlearning Without Retraining Through Selective Synaptic "
        "Dampening, 2023, arXiv 2308.07707; label-free importance: the same, Loss-Free Machine Unlearning, 2024, "
        "arXiv 2402.19308",
        formula="I_S = E_S (∂CE/∂θ)²   θ ← θ·min(λ·I_D / I_f, 1) where I_f > α·I_D",
        memory="2P",
        authors={"alpha": 10.0, "lam": 1.0, "importance": "per_batch", "batch_size": 64},
        values="α 10, λ 1 for ResNet-18 on CIFAR; ViT 5 / 25 / 10; faces α 50, λ .1.  α belongs to the scenario and to "
        "the network, so ours is searched on val: one evaluation for each value, the importances are gathered once.  "
        "At λ 1 no weight shrinks below the share N_f/N of itself, too little for a large D_f: ours is .5.",
        pitfalls=(
            "I_f can be at most N/N_f times I_D (per sample): α = 10 selects nothing when a tenth of D is forgotten.",
            "Too low an α destroys the network; there is no training to repair it.",
            "The statistics of batch norms stay as they are.",
        ),
        deviations=(
            "The code squares the gradient of a batch's mean, so that the values depend on the size and order of "
            "batches; importance='per_batch' does that, the default is the definition: a square for each record.",
            "I_D is the mean over D_f and D_r weighted by their sizes, so that a budget of D_r can stand for D_r; "
            "per batch, D_f and D_r are mixed in each batch in proportion.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    alpha: Strength = "search"  # selection
    lam: float = 0.5  # dampening
    importance: Importance = "per_sample"
    batch_size: int = 64

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """Both parts once; per batch, D_f again beside D_r."""
        if self.importance != "per_batch":
            return {"forget": forget, "retain": retain}
        batches, _ = one_pass(retain, mixed_share(retain, forget, self.batch_size))
        return {
            "forget": forget + batches * min(forget, mixed_share(forget, retain, self.batch_size)),
            "retain": retain,
        }

    def phases(self, job: Job) -> Iterator[Phase]:
        """Gather I_f, gather the rest of I_D, dampen."""
        forget, rest = Sums(job.model), Sums(job.model)
        mixes = self.importance == "per_batch"
        retained, beside = job.mixed(self.batch_size) if mixes else (job.batches(job.retain, self.batch_size), None)
        weight = 0.0 if mixes else job.share  # of I_f in I_D

        def gather_forget(batch: Batch) -> Losses:
            forget.add(*importance(job.model, prepare(job.forget, batch.x), batch.y, self.importance))
            return {}

        def gather_rest(batch: Batch) -> Losses:
            rest.add(*importance(job.model, *_joined(job, batch, beside), self.importance))
            return {}

        def apply(alpha: float) -> nn.Module:
            I_f, I_r, theta = forget.means(), rest.means(), movable(job.original)
            with torch.no_grad():
                for name, parameter in movable(job.model).items():
                    I_D = weight * I_f[name] + (1 - weight) * I_r[name]
                    parameter.copy_(dampened(theta[name], I_D, I_f[name], alpha, self.lam))
            return job.model

        dampen = settled(job, self.alpha, ALPHAS, apply)
        yield Phase(
            name="importance for D_f",
            over=job.batches(job.forget, self.batch_size),
            epochs=1,
            steps=[gather_forget],
            modules={"forget": forget},
        )
        yield Phase(
            name="importance for D",
            over=retained,
            epochs=1,
            steps=[gather_rest],
            modules={"forget": forget, "rest": rest},
            finish=dampen,
        )


def _joined(job: Job, batch: Batch, beside: Batches | None) -> tuple[Tensor, Tensor]:
    x = prepare(job.retain, batch.x)
    if beside is None:
        return x, batch.y
    other = beside.at(batch.t)
    return torch.cat([x, prepare(job.forget, other.x)]), torch.cat([batch.y, other.y])
