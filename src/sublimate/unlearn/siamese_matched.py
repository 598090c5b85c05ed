"""Siamese unlearning towards never-seen data: no trace (known better than records never seen), no scar (known worse).

Vaporization has a target here.  While the learning rate is high and batch norm moves, the network is shaken and formed
anew on retained data; forgotten records are drawn to the φ that never-seen records of their rank have in the present
network.  The rate then falls to nil, which gives back the accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import LEAST, Batch, Blank
from ..data.views import View
from ..inference import confidence
from ..phase import Losses, Phase, cosine
from .base import Unlearner
from .card import Card
from .job import Job
from .matching import RETAINED_SAMPLE, Targets
from .mixing import joint_logits

MOST_PASSES = 30  # over D_r
FEWEST_STEPS = 100


def matched(logits: Tensor, y: Tensor, targets: Tensor) -> Tensor:
    """Smooth distance (L1, β = 1) of φ to its target; a sum over records."""
    return F.smooth_l1_loss(confidence(logits, y), targets, reduction="sum")


def vaporized(logits: Tensor, remaining: Tensor) -> Tensor:
    """−log of the probability of the classes that remain; a sum.  Which of them is left to the network."""
    return -(logits.log_softmax(1)[:, remaining].logsumexp(1)).sum()


@dataclass(frozen=True, kw_only=True)
class SiameseMatched(Unlearner):
    """Vaporize towards never-seen data, concentrate while the network is annealed.

    >>> SiameseMatched().length(forget=1, retain=50_000), SiameseMatched().length(forget=5000, retain=45_000)
    (100, 800)
    """

    name = "siamese-matched"
    revision = "4"
    card = Card(
        title="Siamese unlearning, matched to never-seen data",
        source="Sublimate: this package, 2026",
        formula="CE(D_r) + w·smooth-L1(φ(x) − t(x)) over D_f,   t(x) = never-seen φ of the class at the rank of x\n"
        "whole classes: −log Σ p_k over the classes k that remain",
        memory="N_f",
        values="Found on val by the trials in docs/log.md; there are no authors' values but ours.",
        pitfalls=(
            "It needs never-seen records (val) and a good share of D_r: what anneals the network is retained data. "
            "With a tenth of it the method must shake less, and loses more.",
            "Targets follow the present network: a pull that is too strong drags never-seen records down with it.",
            "Targets are what records of the same class have. A record under a wrong label is drawn there too: it is "
            "learned, not forgotten (docs/log.md): plant canaries to see whether that matters, or train anew.",
        ),
        deviations=("The two views, the predictor h and the permuted labels of the paper are not used.",),
    )
    lr: float = 0.2  # of a run of all its steps on all of D_r
    momentum: float = 0.9
    weight_decay: float = 5e-4
    steps: int = 800  # at most
    passes: float = 20.0  # over D_f: a small request takes fewer steps
    batch_size: int = 256  # of D_r
    forget_batch: int = 32
    weight: float = 0.8  # of the pull on a forgotten record, against the cross entropy of a retained one
    near: float = 1.0  # a record whose φ is that near to its target from the start is left alone
    until: float = 0.4  # share of the steps in which forgotten records are pulled; the rest anneals on D_r alone
    pulls: int = 100  # steps in which they are, at least: a short run, at its low rate, has nothing to mend
    refresh: int = 20  # steps from one look at never-seen records to the next
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """A batch of each per step (of D_f, less where fewer records than a batch are far from their targets)."""
        steps = self.length(forget, retain)
        return {
            "forget": self.pulled(steps) * min(self.forget_batch, forget),
            "retain": steps * max(LEAST, min(self.batch_size, retain)) + min(RETAINED_SAMPLE, retain),
        }

    def length(self, forget: int, retain: int) -> int:
        """The number of steps: few for a few records, and a small D_r is not passed for ever."""
        wanted = max(FEWEST_STEPS, ceil(self.passes * forget / self.forget_batch))
        return min(self.steps, wanted, MOST_PASSES * -(-retain // min(self.batch_size, retain)))

    def rate(self, steps: int, given: float) -> float:
        """The learning rate: a short run shakes less, and so does one that has little of D_r to form anew from.

        >>> SiameseMatched().rate(800, 1.0), SiameseMatched().rate(100, 1.0), SiameseMatched().rate(800, 0.25)
        (0.2, 0.025, 0.05)
        """
        return self.lr * min(steps / self.steps, given)

    def pulled(self, steps: int) -> int:
        """The number of steps in which forgotten records are pulled.

        >>> SiameseMatched().pulled(100), SiameseMatched().pulled(800)
        (100, 320)
        """
        return min(steps, max(self.pulls, ceil(self.until * steps)))

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase of one update per step: on both while the rate is high, then on D_r alone."""
        retained = job.batches(job.retain, self.batch_size, cycle=True, fill=LEAST)
        targets, remaining = Targets(job), job.remaining.nonzero().flatten()
        far = targets.far(self.near)
        forgotten = job.batches(job.forget.where(far), self.forget_batch, cycle=True)
        steps = self.length(len(job.forget), len(job.retain))

        def anneal(keep: Batch) -> Losses:
            l = job.logits(job.retain, job.seen(job.retain, keep, self.views))  # noqa: E741
            return {"ce retain": F.cross_entropy(l, keep.y)}

        def step(now: Batch) -> Losses:
            keep = retained.at(now.t)
            if now.t >= self.pulled(steps):
                return anneal(keep)
            if now.t and now.t % self.refresh == 0:
                targets.refresh()
            gone = forgotten.at(now.t)
            # One pass, so that batch norm sees what a network in use will see: mostly retained records.
            l, z = joint_logits(job, keep, gone, self.views, of_forget="none")  # noqa: E741
            whole = torch.isin(gone.y.cpu(), job.forgotten).to(z.device)
            t = targets.values[far][gone.places].to(z.device)
            pull = self.weight * (matched(z[~whole], gone.y[~whole], t[~whole]) + vaporized(z[whole], remaining))
            return {"ce retain": F.cross_entropy(l, keep.y), "vaporization": pull.float() / len(keep.y)}

        yield Phase(
            name="siamese-matched",
            over=Blank(steps),
            epochs=1,
            steps=(step,),
            optimizer=self.sgd([job.model]),
            lr=self.rate(steps, job.given),
            schedule=cosine,
            modules={"targets": targets},
        )
