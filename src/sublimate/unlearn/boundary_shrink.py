"""Boundary Shrink (Chen, Gao, Liu, Peng, Wang): each forgotten record goes to the class beyond its nearest boundary.

The step across the boundary is taken in pixels, before normalisation.  Its sign is the same on both sides of the
normalisation, and a step of ε in pixels is one of ε/std in what the network takes, channel by channel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import LEAST, Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase
from .base import Unlearner
from .card import WHOLE_CLASSES, Card
from .job import Job


def signed_step(f: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """x' = x + ε·sign ∇_x CE(f(x), y).

    >>> W = torch.tensor([[1.0, -1.0], [0.0, 0.0]])
    >>> signed_step(lambda x: x @ W.T, torch.tensor([[0.5, 0.5]]), torch.tensor([0]), 0.25)
    tensor([[0.2500, 0.7500]])
    """
    x = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(F.cross_entropy(f(x), y, reduction="sum"), x)
    return x.detach() + epsilon * gradient.sign()


def best_remaining(z: Tensor, forgotten: Tensor) -> Tensor:
    """y': the class with the highest logit among those that remain.

    >>> best_remaining(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([0, 1]))
    tensor([2])
    """
    return z.index_fill(1, forgotten, float("-inf")).argmax(1)


@dataclass(frozen=True, kw_only=True)
class BoundaryShrink(Unlearner):
    """Give every forgotten record the label of the nearest class that remains, and learn that.

    >>> BoundaryShrink(epochs=1).reads(5000, 45_000)
    {'forget': 5000}
    """

    name = "boundary-shrink"
    few = 1  # never read
    scenarios = WHOLE_CLASSES
    card = Card(
        title="Boundary Shrink",
        source="Chen, Gao, Liu, Peng, Wang: Boundary Unlearning: Rapid Forgetting of Deep Networks via Shifting the "
        "Decision Boundary, CVPR 2023, arXiv 2303.11570",
        formula="x' = x + ε·sign ∇_x CE(f_θ₀(x), y)   y' = argmax over remaining classes of f_θ₀(x')   "
        "min over D_f: CE(f_θ(x), y')",
        memory="P",
        authors={"lr": 1e-5, "momentum": 0.9, "weight_decay": 0.0, "epochs": 10, "batch_size": 64, "epsilon": 0.1}
        | {"norm": "train"},
        values="ε .1, SGD 1e-5, momentum .9, 10 epochs, batch 64 on an All-CNN: the public code.  Ports use 1e-6, 5e-6 "
        "and 5e-5.  Ours is one epoch: on a ResNet-20 and CIFAR-10, 20 updates at 4e-5 erase a class and cost 15 "
        "points elsewhere, at 1e-5 they leave 81 % of it and cost one point.  A small CNN with 600 records takes 1e-4 "
        "and 5 epochs.",
        pitfalls=(
            "Nothing of D_r is read: the rest loses accuracy with every further step, so rate and epochs stay small.",
            'Batches of one class spoil the running statistics of a batch norm: norm="eval" is the default.',
            "ε is in pixels of 0..1; for model-ready data it is in whatever the network takes.",
        ),
        deviations=(
            "y' is the best class among those that remain: it is never y, which the code keeps wherever one step does "
            "not cross the boundary, and never another forgotten class.",
            "x' is clipped to 0..1 as in the code, but not rounded to 1/255; model-ready data has no range to clip to.",
            "The code undoes the normalisation with a wrong mean of the blue channel (.2265); here the step is taken "
            "before the normalisation.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    lr: float = 1e-5
    momentum: float = 0.9
    weight_decay: float = 0.0
    epochs: int = 1  # over D_f
    batch_size: int = 64
    epsilon: float = 0.1  # in pixels of 0..1
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f `epochs` times; nothing of D_r."""
        return {"forget": self.epochs * one_pass(forget, self.batch_size, fill=LEAST)[1]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_f."""
        teacher, gone = job.teacher(), (~job.remaining).nonzero().flatten().to(job.device)

        def original(x: Tensor) -> Tensor:
            return job.logits(job.forget, x, teacher)

        def nearest(x: Tensor, y: Tensor) -> Tensor:
            pixels = x if x.is_floating_point() else x / 255
            across = signed_step(original, pixels, y, self.epsilon)
            with torch.no_grad():
                return best_remaining(original(across.clamp(0, 1) if job.forget.data.pixels else across), gone)

        def shrink(batch: Batch) -> Losses:
            x = job.seen(job.forget, batch, self.views)
            return {"ce forget": F.cross_entropy(job.logits(job.forget, x), nearest(x, batch.y))}

        yield Phase(
            name=self.name,
            over=job.batches(job.forget, self.batch_size, fill=LEAST),
            epochs=self.epochs,
            steps=(shrink,),
            optimizer=self.sgd([job.model]),
            lr=self.lr,
        )
