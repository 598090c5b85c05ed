"""Bad teaching (Chundawat, Tarun, Mandal, Kankanhalli): a student of two teachers, each for its own records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import Batch, one_pass
from ..data.views import View
from ..inference import prepare
from ..models.outputs import logits as as_logits
from ..phase import Losses, Phase
from .base import Unlearner
from .card import Card
from .job import Job, mixed_share

Reduction = Literal["batch", "elements"]


def kl(t: Tensor, s: Tensor, tau: float = 1.0, reduction: Reduction = "batch") -> Tensor:
    """KL(softmax t/τ ‖ softmax s/τ), summed over classes and averaged over records; "elements" averages over both.

    >>> t, s = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 0.0]])
    >>> kl(t, s).item(), kl(t, s, tau=4.0, reduction="elements").item()
    (0.0, 0.0)
    """
    # Both as logarithms: a probability that underflows to nil would have no gradient but nan.
    found = F.kl_div((s / tau).log_softmax(1), (t / tau).log_softmax(1), log_target=True, reduction="batchmean")
    return found / s.shape[1] if reduction == "elements" else found


@dataclass(frozen=True, kw_only=True)
class BadT(Unlearner):
    """Learn what must be forgotten from a teacher that knows nothing, and the rest from the original.

    >>> BadT(epochs=1, batch_size=50).reads(100, 1000)  # 300 of D_r: batches of 38 and, beside each, 12 of D_f
    {'forget': 96, 'retain': 300}
    """

    name = "badt"
    card = Card(
        title="Bad teaching",
        source="Chundawat, Tarun, Mandal, Kankanhalli: Can Bad Teaching Induce Forgetting? Unlearning in Deep Networks "
        "using an Incompetent Teacher, AAAI 2023, arXiv 2205.08096",
        formula="min E KL(u·T_b(x) + (1−u)·T_c(x) ‖ S(x)) at temperature τ   u = 1 on D_f, 0 on a share of D_r   "
        "T_c = θ₀, T_b random",
        memory="2P",
        authors={"lr": 1e-4, "epochs": 1, "batch_size": 256, "tau": 1.0, "share": 0.3, "reduction": "elements"},
        values="Adam 1e-4, 1 epoch, batch 256, τ 1, 30 % of D_r: the public code and its ports.  SCRUB's comparison "
        "uses Adam 5e-5, τ 4, 5 to 10 epochs.  Ours takes more and smaller batches, for few records: one epoch may be "
        "a single batch there.  A rate of 1e-3 ruins a ResNet-20.",
        pitfalls=(
            "A random network with batch norm answers nearly the same for every image, and may be sure of it: random "
            "ResNet-20s name one class with p ≈ .5.  The forgotten records then move to that class, not to doubt.",
            "Both teachers stay in evaluation mode; in training mode they would drift.",
            "Only a share of D_r is rehearsed: the rest is kept by the student's start at the original.",
        ),
        deviations=(
            'The public code averages over records and classes (reduction="elements"), a KL K times too small; under '
            "Adam the factor cancels but for its ε, under SGD it would be a learning rate K times too small.",
            "Every batch holds both kinds in proportion; the code shuffles both together.",
        ),
    )
    lr: float = 1e-4
    epochs: int = 3  # over the share of D_r
    batch_size: int = 128  # both kinds together
    tau: float = 1.0
    share: float = 0.3  # of D_r
    reduction: Reduction = "batch"
    views: str | View = "simple"

    def kept(self, retain: int) -> int:
        """How many records of D_r are rehearsed."""
        return max(1, min(retain, round(self.share * retain)))

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """The share of D_r `epochs` times, and records of D_f beside each of its batches."""
        kept = self.kept(retain)
        batches, rows = one_pass(kept, mixed_share(kept, forget, self.batch_size))
        beside = min(forget, mixed_share(forget, kept, self.batch_size))
        return {"forget": self.epochs * batches * beside, "retain": self.epochs * rows}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase of mixed batches."""
        competent, incompetent = job.teacher(), job.fresh("bad teacher")
        some = job.retain.sample(self.kept(len(job.retain)), job.seed)
        retained, forgotten = replace(job, retain=some).mixed(self.batch_size)

        def learn(batch: Batch) -> Losses:
            known = prepare(job.retain, job.seen(job.retain, batch, self.views))
            gone = prepare(job.forget, job.seen(job.forget, forgotten.at(batch.t), self.views))
            with torch.no_grad():  # u is 1 or 0, so the mixture is the one teacher or the other
                t = torch.cat([as_logits(competent(known)), as_logits(incompetent(gone))])
            return {"kl": kl(t, as_logits(job.model(torch.cat([known, gone]))), self.tau, self.reduction)}

        yield Phase(
            name="badt",
            over=retained,
            epochs=self.epochs,
            steps=(learn,),
            optimizer=self.adam([job.model]),
            lr=self.lr,
        )
