"""Boundary Expand (Chen, Gao, Liu, Peng, Wang): forgotten records go to one more class, which is then taken away.

The network keeps its shape: the further logit comes from a layer of its own, beside the head and with the same input h.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..errors import InputRefused
from ..phase import Losses, Phase
from .base import Unlearner
from .card import WHOLE_CLASSES, Card
from .job import Job

SMALL = 0.01  # standard deviation of the further row: at first it says next to nothing


def head_of(model: nn.Module, K: int) -> nn.Linear:
    """The last linear layer with K outputs.

    >>> head_of(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(2, 3)), 3).in_features
    2
    """
    found = [module for module in model.modules() if isinstance(module, nn.Linear) and module.out_features == K]
    if not found:
        raise refused(f"The network has no linear layer with {K} outputs to set one more class beside.")
    return found[-1]


def refused(cause: str) -> InputRefused:
    """The error for a network without a usable head."""
    return InputRefused(cause, "Give a network that ends in nn.Linear, or use boundary-shrink.")


@contextmanager
def inputs_of(layer: nn.Module) -> Iterator[list[Tensor]]:
    """What the layer is given while this lasts; the hook is removed in any case."""
    seen: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    try:
        yield seen
    finally:
        hook.remove()


def row(features: int, generator: torch.Generator) -> nn.Linear:
    """The layer that gives the further logit."""
    extra = nn.Linear(features, 1)
    nn.init.normal_(extra.weight, std=SMALL, generator=generator)
    nn.init.zeros_(extra.bias)
    return extra


def expansion(z: Tensor, further: Tensor) -> Tensor:
    """CE([z, further], K): all records belong to the further class, whose number is K.

    >>> expansion(torch.zeros(2, 3), torch.zeros(2, 1)).item().__round__(4)  # ln 4
    1.3863
    """
    return F.cross_entropy(torch.cat([z, further], 1), torch.full_like(z[:, 0], z.shape[1], dtype=torch.long))


@dataclass(frozen=True, kw_only=True)
class BoundaryExpand(Unlearner):
    """Learn that every forgotten record is of one more class, and throw that class away.

    >>> BoundaryExpand(epochs=1).reads(5000, 45_000)
    {'forget': 5000}
    """

    name = "boundary-expand"
    few = 1  # never read
    scenarios = WHOLE_CLASSES
    card = Card(
        title="Boundary Expand",
        source="Chen, Gao, Liu, Peng, Wang: Boundary Unlearning: Rapid Forgetting of Deep Networks via Shifting the "
        "Decision Boundary, CVPR 2023, arXiv 2303.11570",
        formula="min over D_f: CE([f_θ(x), w·h(x) + b], K), h = input of the head; then w and b are thrown away",
        memory="one row",
        authors={"lr": 1e-5, "momentum": 0.9, "weight_decay": 0.0, "epochs": 10, "batch_size": 64, "norm": "train"},
        values="SGD 1e-5, momentum .9, 10 epochs, batch 64 on an All-CNN: the public code.  Ours is one epoch: on a "
        "ResNet-20 and CIFAR-10, 20 updates at 4e-5 leave 14 % of a class and cost 7 points elsewhere, at 1e-4 they "
        "erase it and cost 12.",
        pitfalls=(
            "The further class soon takes all probability, and then nothing moves any more: what is left may still be "
            "the old class.",
            'Nothing of D_r is read, and batches of one class spoil a batch norm: norm="eval" is the default.',
        ),
        deviations=(
            "The code builds a wider and then a narrower network; here the network keeps its shape.",
            f"The further row begins at N(0, {SMALL}²) without bias.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    lr: float = 1e-5
    momentum: float = 0.9
    weight_decay: float = 0.0
    epochs: int = 1  # over D_f
    batch_size: int = 64
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f `epochs` times; nothing of D_r."""
        return {"forget": self.epochs * one_pass(forget, self.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_f."""
        head = head_of(job.model, job.classes)
        extra = row(head.in_features, job.stream("extra")).to(job.device)

        def expand(batch: Batch) -> Losses:
            with inputs_of(head) as h:
                z = job.logits(job.forget, job.seen(job.forget, batch, self.views))
            if not h or h[-1].ndim != 2:
                raise refused("The last linear layer of the network is not called with one row of features per record.")
            return {"ce further": expansion(z, extra(h[-1]))}

        yield Phase(
            name=self.name,
            over=job.batches(job.forget, self.batch_size, fill=LEAST),
            epochs=self.epochs,
            steps=(expand,),
            optimizer=self.sgd([job.model, extra]),
            lr=self.lr,
            modules={"extra": extra},
        )
