"""SalUn (Fan, Liu, Zhang, Wong, Wei, Liu): random labels for D_f, and only the weights move that matter to D_f."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..data.batches import Batch
from ..data.views import View
from ..errors import InputRefused
from ..inference import prepare
from ..phase import Losses, Phase
from .base import Unlearner
from .card import Card
from .gradients import Sums, Tensors, movable, summed_gradients
from .job import Job
from .relabel import Labels, joint, joint_reads, relabelled


def salient(gradients: Tensors, share: float) -> dict[str, Tensor]:
    """Where |gradient| is in the top share over all parameters; what has no gradient is never salient.

    >>> salient({"w": torch.tensor([1.0, -4.0]), "b": torch.tensor([3.0, 0.0])}, 0.5)
    {'w': tensor([False,  True]), 'b': tensor([ True, False])}
    """
    everything = torch.cat([g.abs().flatten() for g in gradients.values()])
    moving = max(1, round(share * len(everything)))
    least = everything.kthvalue(len(everything) - moving + 1).values
    return {name: (g.abs() >= least) & (g != 0) for name, g in gradients.items()}


class Mask(nn.Module):
    """Which weights may move: a buffer for each parameter, saved with the run."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        for number, parameter in enumerate(movable(model).values()):
            self.register_buffer(str(number), torch.ones_like(parameter, dtype=torch.bool))

    def set(self, found: Tensors) -> None:
        """Take these masks, in the order of the parameters."""
        for mine, theirs in zip(self.buffers(), found.values(), strict=True):
            mine.copy_(theirs)

    @torch.no_grad()
    def hold(self, model: nn.Module, original: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """θ[¬m] = θ₀[¬m] and momentum[¬m] = 0: a masked gradient alone does not stop momentum and weight decay."""
        weights, before = movable(model).values(), movable(original).values()
        for m, parameter, theta in zip(self.buffers(), weights, before, strict=True):
            parameter.copy_(torch.where(m, parameter, theta))
            momentum = optimizer.state[parameter].get("momentum_buffer")
            if momentum is not None:
                momentum.mul_(m)


@dataclass(frozen=True, kw_only=True)
class SalUn(Unlearner):
    """Random labels on D_f, true ones on D_r, and only salient weights move.

    >>> SalUn(share=0.3).epochs
    5
    """

    name = "salun"
    card = Card(
        title="SalUn",
        source="Fan, Liu, Zhang, Wong, Wei, Liu: SalUn: Empowering Machine Unlearning via Gradient-based Weight "
        "Saliency in Both Image Classification and Generation, 2024, arXiv 2310.12508",
        formula="m = |Σ_Df ∂CE/∂θ₀| in the top q   min over θ[m]: E_Df CE(f_θ(x), ỹ ≠ y) + α·E_Dr CE(f_θ(x), y)",
        memory="P bits, and P while the mask is made",
        authors={
            "share": 0.5,
            "labels": "others",
            "lr": 0.013,
            "momentum": 0.9,
            "weight_decay": 5e-4,
            "batch_size": 256,
            "epochs": 10,
        },
        values="q .5, SGD .013 (earlier .006), momentum .9, weight decay 5e-4, batch 256, 10 epochs; elsewhere .005 to "
        ".1.  Ours: half the batch and half the epochs, for small networks on two cores, and labels of classes that "
        "remain, since Retrain never names a class it never saw.",
        pitfalls=(
            "To multiply the gradient by the mask is not enough: momentum and weight decay move masked weights.",
            "Random labels are learned: forgotten records end unusually sure of a wrong class, which an attacker sees.",
            "The statistics of batch norms are no weights: norm='train' moves them.",
        ),
        deviations=(
            "Both parts stand in each batch in proportion, each record with the same weight (α = 1): the authors' code "
            "joins them on CIFAR-100 and makes a pass over D_f before one over D_r elsewhere.",
            "Labels are drawn anew in every epoch, never the true one.",
            "A weight with no gradient at all is never salient, also where that leaves fewer than the share.",
        ),
    )
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 5  # over D_r
    batch_size: int = 128
    share: float = 0.5  # q: of the weights that may move
    labels: Labels = "retained"
    views: str | View = "simple"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share > 1:
            raise InputRefused(f"The option share cannot be {self.share!r}.", "Give a number of at most 1.")

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f once for the mask; then both parts `epochs` times, up to the rounding of their shares of a batch."""
        once = joint_reads(forget, retain, self.batch_size)
        return {"forget": forget + self.epochs * once["forget"], "retain": self.epochs * once["retain"]}

    def phases(self, job: Job) -> Iterator[Phase]:
        """Make the mask, then learn random labels under it."""
        sums, mask, optimizer = Sums(job.model), Mask(job.model), self.sgd([job.model])
        over, learn = joint(job, self.batch_size, relabelled(job, self.labels, "epoch"), self.views)

        def gather(batch: Batch) -> Losses:
            sums.add(summed_gradients(job.model, prepare(job.forget, batch.x), batch.y), len(batch.y))
            return {}

        yield Phase(
            name="saliency",
            over=job.batches(job.forget, self.batch_size),
            epochs=1,
            steps=[gather],
            modules={"sums": sums},
            finish=lambda: mask.set(salient(sums.means(), self.share)),
        )
        yield Phase(
            name="salun",
            over=over,
            epochs=self.epochs,
            steps=[learn],
            optimizer=optimizer,
            lr=self.lr,
            modules={"mask": mask},
            after=lambda: mask.hold(job.model, job.original, optimizer),
        )
