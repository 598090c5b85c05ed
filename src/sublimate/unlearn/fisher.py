"""Fisher forgetting (Golatkar, Achille, Soatto): noise where the retained records do not feel it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from ..data.batches import Batch
from ..inference import prepare
from ..phase import Losses, Phase
from .base import Unlearner
from .card import Card
from .gradients import Sums, Tensors, movable, probabilities, summed_over_samples
from .job import Job
from .search import Strength, settled

ALPHAS = (1e-9, 1e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4)  # the mildest first
CAP, HEAD_CAP = 1e3, 1e2  # of 1/F
STRONGER = 10.0  # for the head and for vectors: biases, norms
ERASED_ROW = 1e-4  # variance of the head's row of a class that is gone


def expected(model: nn.Module, x: Tensor) -> Tensors:
    """Σ_x Σ_y p(y|x)·(∂ log p(y|x)/∂θ)²: K backward passes."""
    p, sums = probabilities(model, x), dict[str, Tensor]()
    for y in range(p.shape[1]):
        target = torch.zeros_like(p)
        target[:, y] = p[:, y].sqrt()  # squared with the gradient, this is the weight p(y|x)
        for name, found in summed_over_samples(model, x, target).items():
            sums[name] = sums[name] + found if name in sums else found
    return sums


def sampled(model: nn.Module, x: Tensor, generator: Generator) -> Tensors:
    """Σ_x (∂ log p(y|x)/∂θ)² with y ~ p(·|x): the same in the mean, by one backward pass."""
    y = torch.multinomial(probabilities(model, x).cpu(), 1, generator=generator).squeeze(1)
    return summed_over_samples(model, x, y.to(x.device))


def variance(fisher: Tensor, alpha: float, head: bool) -> Tensor:
    """α / F with a cap, averaged along dim 1; ten times as much for the head and for vectors.

    >>> variance(torch.tensor([1.0, 0.0]), alpha=0.1, head=False)
    tensor([   1., 1000.])
    """
    var = alpha * (1 / (fisher + 1e-8)).clamp(max=HEAD_CAP if head else CAP)
    if var.ndim > 1:
        var = var.mean(1, keepdim=True).expand_as(fisher)
    return var * (STRONGER if head or var.ndim == 1 else 1)


def head_names(model: nn.Module, K: int) -> set[str]:
    """Names of the parameters with K rows in the last module that has such ones.

    >>> sorted(head_names(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)), 3))
    ['2.bias', '2.weight']
    """
    found = [name for name, p in model.named_parameters() if p.ndim > 0 and p.shape[0] == K]
    owner = found[-1].rpartition(".")[0] if found else ""
    return {name for name in found if name.rpartition(".")[0] == owner}


@dataclass(frozen=True, kw_only=True)
class Fisher(Unlearner):
    """Scrub the weights with noise, the more the less D_r depends on them; no training.

    >>> Fisher().labels
    'sampled'
    """

    name = "fisher"
    few = 1000
    card = Card(
        title="Fisher forgetting",
        source="Golatkar, Achille, Soatto: Eternal Sunshine of the Spotless Net: Selective Forgetting in Deep "
        "Networks, 2020, arXiv 1911.04933",
        formula="F = E_Dr Σ_y p(y|x)·(∂ log p(y|x)/∂θ)²   θ ← θ + n, n ~ N(0, α·min(1/F, cap))",
        memory="P",
        authors={"alpha": 1e-6, "labels": "expected"},
        values="α 1e-6; 1e-7 and 1e-9 are also in use.  α is searched on val, F is read off 1000 records with one "
        "drawn label each: K backward passes for each record of D_r take hours with many classes.",
        pitfalls=(
            "Noise ruins deep networks with batch norm long before it hides single records.",
            "D_f is never read: apart from whole classes, every request of the same size gets the same noise.",
        ),
        deviations=(
            "The paper's standard deviation goes with F^(−1/4), the code's with F^(−1/2) and caps; ours is the code's.",
            "Any number of whole classes; the code erases the head's row of one.",
            "The head is the last module with K rows; the code takes every tensor with K rows for it.",
            "F is the mean over a sample of D_r.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    alpha: Strength = "search"  # strength of the noise
    sample: int = 1000  # records of D_r
    labels: Literal["expected", "sampled"] = "sampled"
    batch_size: int = 64

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """A sample of D_r, once."""
        return {"retain": min(self.sample, retain)}

    def phases(self, job: Job) -> Iterator[Phase]:
        """Gather F, add the noise."""
        fisher, head = Sums(job.model), head_names(job.model, job.classes)

        def gather(batch: Batch) -> Losses:
            x = prepare(job.retain, batch.x)
            g = job.stream("labels", batch.t)
            found = expected(job.model, x) if self.labels == "expected" else sampled(job.model, x, g)
            fisher.add(found, len(x))
            return {}

        def apply(alpha: float) -> nn.Module:
            F, theta = fisher.means(), movable(job.original)
            with torch.no_grad():
                for name, parameter in movable(job.model).items():
                    mean, var = theta[name].clone(), variance(F[name], alpha, name in head).clone()
                    if name in head:
                        mean[job.forgotten], var[job.forgotten] = 0.0, ERASED_ROW
                    n = torch.randn(mean.shape, generator=job.stream("noise", name)).to(mean)
                    parameter.copy_(mean + var.sqrt() * n)
            return job.model

        yield Phase(
            name="Fisher information of D_r",
            over=job.batches(job.retain.sample(self.sample, self.seed), self.batch_size),
            epochs=1,
            steps=[gather],
            modules={"fisher": fisher},
            finish=settled(job, self.alpha, ALPHAS, apply),
        )
