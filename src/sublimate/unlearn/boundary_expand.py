"""Boundary Expand (Chen, Gao, Liu, Peng, Wang): forgotten records go to one more class, which is then taken away.

The network keeps its shape: the further logit comes from a layer of its own, beside the head and with the same input h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..inference import looking
from ..phase import Losses, Phase
from .base import Unlearner
from .card import WHOLE_CLASSES, Card
from .job import Job

SMALL = 0.01  # standard deviation of the further row: at first it says next to nothing


Head = nn.Linear | nn.Conv2d


def heads_of(model: nn.Module, K: int) -> list[Head]:
    """The layers with K outputs: the last one that is called is the head.

    >>> heads_of(nn.Sequential(nn.Conv2d(1, 3, 2), nn.Flatten(), nn.Linear(4, 2)), 3)
    [Conv2d(1, 3, kernel_size=(2, 2), stride=(1, 1))]
    """
    return [m for m in model.modules() if isinstance(m, Head) and len(m.weight) == K]


@contextmanager
def inputs_of(layers: Sequence[Head]) -> Iterator[list[tuple[Head, Tensor]]]:
    """Which of the layers are called while this lasts, and with what; the hooks are removed in any case."""
    seen: list[tuple[Head, Tensor]] = []
    hooks = [layer.register_forward_pre_hook(lambda m, given: seen.append((m, given[0]))) for layer in layers]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def row(head: Head | None, K: int, generator: torch.Generator) -> Head:
    """The layer that gives the further logit: beside the head, of its kind; without a head, of the K logits."""
    if isinstance(head, nn.Conv2d):
        extra: Head = nn.Conv2d(head.in_channels, 1, head.kernel_size, head.stride, head.padding, head.dilation)  # type: ignore[arg-type]
    else:
        extra = nn.Linear(head.in_features if head else K, 1)
    nn.init.normal_(extra.weight, std=SMALL, generator=generator)
    nn.init.constant_(cast(Tensor, extra.bias), 0.0)
    return extra


def further(extra: nn.Module, h: Tensor) -> Tensor:
    """One more logit for each record: the mean over places, where h has several.

    >>> further(nn.Flatten(2), torch.tensor([[[[1.0, 3.0]]]]))
    tensor([[2.]])
    """
    return extra(h).reshape(len(h), -1).mean(1, keepdim=True)  # type: ignore[no-any-return]


def expansion(z: Tensor, more: Tensor) -> Tensor:
    """CE([z, more], K): all records belong to the further class, whose number is K.

    >>> expansion(torch.zeros(2, 3), torch.zeros(2, 1)).item().__round__(4)  # ln 4
    1.3863
    """
    return F.cross_entropy(torch.cat([z, more], 1), torch.full_like(z[:, 0], z.shape[1], dtype=torch.long))


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
            "The further class soon takes all probability; then nothing moves, and what is left may be the old class.",
            'Nothing of D_r is read, and batches of one class spoil a batch norm: norm="eval" is the default.',
        ),
        deviations=(
            "The code builds a wider and then a narrower network; here the network keeps its shape.",
            f"The further row begins at N(0, {SMALL}²) without bias.",
            "A head that is a convolution gets a convolution beside it, averaged over places; where no layer has K "
            "outputs, the further logit is read off the others.",
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
        heads = heads_of(job.model, job.classes)

        def look(x: Tensor) -> tuple[Head | None, Tensor, Tensor]:
            with inputs_of(heads) as called:
                z = job.logits(job.forget, x)
            return (*(called[-1] if called else (None, z)), z)

        with looking(job.model):
            head = look(job.forget.first.to(job.device))[0]
        extra = row(head, job.classes, job.stream("extra")).to(job.device)

        def expand(batch: Batch) -> Losses:
            _, h, z = look(job.seen(job.forget, batch, self.views))
            return {"ce further": expansion(z, further(extra, h))}

        yield Phase(
            name=self.name,
            over=job.batches(job.forget, self.batch_size, fill=LEAST),
            epochs=self.epochs,
            steps=(expand,),
            optimizer=self.sgd([job.model, extra]),
            lr=self.lr,
            modules={"extra": extra},
        )
