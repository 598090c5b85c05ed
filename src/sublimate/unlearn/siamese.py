"""Siamese unlearning (Xie, He, Song, Zhang, Letaief), Sec. 3.  Letters follow the paper: l = f(x), p = h(l).

Deviations from the authors' public code, each an option: eq. 7 keeps class k with probability 1/(1+(K-1)·r_k), the code
flips with probability r_k and never back (kept labels at r = .1, K = 10: 53 % against 90 %); Algorithm 1 updates on S_r
first, the code on D_f first; the paper draws one permuted label for both views, the code two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..data.batches import Batch, one_pass
from ..data.views import View
from ..phase import Losses, Phase, constant, cosine
from ..splits import Part
from .base import Unlearner
from .card import Card
from .job import Job
from .labels import Permutation, another, permute
from .matching import RETAINED_SAMPLE
from .met import Met
from .terms import concentration, predictor, sce, vaporization

FILL = 32  # records in a forget batch at least, by repetition: a batch norm over two rows has no gradient to speak of


@dataclass(frozen=True, kw_only=True)
class Siamese(Unlearner):
    """Vaporize what must be forgotten, concentrate what stays: the paper, to the letter.

    >>> Siamese(lr=1e-3).permutation
    'paper'
    """

    name = "siamese"
    few = 1000
    card = Card(
        title="Siamese unlearning",
        source="Xie, He, Song, Zhang, Letaief: Siamese Machine Unlearning with Knowledge Vaporization and "
        "Concentration",
        formula="S_r: L_KC + λ·SCE(x, y)   D_f: L_KV + λ·SCE(x, p(y))   L_KC = ½[d(p₁, sg l₂) + d(p₂, sg l₁)] = −L_KV",
        memory="small predictor",
        values="SGD 1e-4, momentum .9, weight decay 1e-4, 3 epochs, batch 128 + 128, λ 1: App. C and the public code.  "
        "The class's defaults are the paper; erase's preset auto finds the rate by a probe.",
        pitfalls=(
            "The learning rate belongs to the paper's networks: a public ResNet-20 needs 1e-3.",
            "At r = 1 the labels are uniform: the erased classes end at chance, where Retrain is at nil.",
            "MIA = 0 is over-erasure that an attacker can see; Retrain is not at 0.",
        ),
        deviations=(
            "Eq. 7 keeps class k with probability 1/(1+(K−1)·r_k); the code flips with probability r_k, never back.",
            "Algorithm 1 updates on S_r first; the code on D_f first.",
            "One permuted label for both views; the code draws two.",
            "S_r is seeded and stratified; the code takes the first 1000 in file order.",
            f"Both views pass h as one batch; a batch of D_f below {FILL} is filled by repeating its records.",
        ),
    )
    norm: Literal["eval", "train"] = "eval"
    lr: float = 1e-4
    momentum: float = 0.9
    weight_decay: float = 1e-4
    epochs: int = 3  # over D_f
    batch_size: int = 128  # of D_f, and of S_r
    lam: float = 1.0  # weight of the cross-entropy terms, eq. 8-9
    kvc: float = 1.0  # weight of vaporization and concentration; 0 = cross entropy only
    permutation: Permutation = "paper"
    labels_per_pair: Literal[1, 2] = 1
    order: Literal["concentrate-first", "vaporize-first", "joint"] = "concentrate-first"
    vaporize: bool = True  # False: concentration alone
    hidden: int = 64
    views: str | View = "simple"
    clip: float | None = None  # bound on the norm of the gradient
    schedule: Literal["constant", "cosine"] = "constant"  # "cosine": the learning rate falls to nil
    until: Literal["epochs", "met"] = "epochs"  # "met": stop once D_f looks never seen and the rest has recovered
    watch_every: int = 10  # iterations, when until="met"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_f `epochs` times, and a batch of S_r with each of its batches."""
        batches, rows = one_pass(forget, self.batch_size, fill=FILL)
        ranked = min(RETAINED_SAMPLE, retain) if self.until == "met" or self.permutation == "matched" else 0
        return {
            "forget": self.epochs * rows,
            "retain": self.epochs * batches * min(self.batch_size, retain) + ranked,
        }

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over D_f, two updates per iteration."""
        h = predictor(job.classes, self.hidden).to(job.device)
        few = job.batches(job.retain, self.batch_size, cycle=True)
        wanted = self.until == "met" or self.permutation == "matched"
        met = Met(job, stops=self.until == "met") if wanted else None

        def pair(part: Part, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            view, g = job.view(self.views, part), job.stream("views", part.name, batch.t)
            l = job.logits(part, torch.cat([view(batch.x, g), view(batch.x, g)]))  # noqa: E741
            (p1, p2), (l1, l2) = h(l).chunk(2), l.chunk(2)
            return p1, p2, l1, l2

        def concentrate(forget_batch: Batch) -> Losses:
            if met and met.recovered:
                return {}
            batch = few.at(forget_batch.t)
            p1, p2, l1, l2 = pair(job.retain, batch)
            return {
                "concentration": self.kvc * concentration(p1, p2, l1, l2),
                "ce retain": self.lam * sce(l1, l2, batch.y, batch.y),
            }

        def vaporize(batch: Batch) -> Losses:
            if met and met.forgotten:  # a step rests while its goal is met
                return {}
            p1, p2, l1, l2 = pair(job.forget, batch)
            g, y = job.stream("labels", batch.t), batch.y.cpu()
            if met and self.permutation == "matched":
                still = met.above(batch.places, l1, l2, batch.y).cpu()
                draws = [torch.where(still, another(y, job.remaining, g), y) for _ in range(self.labels_per_pair)]
            else:
                draws = [permute(y, job.ratios, self.permutation, g) for _ in range(self.labels_per_pair)]
            return {
                "vaporization": self.kvc * vaporization(p1, p2, l1, l2),
                "ce forget": self.lam * sce(l1, l2, draws[0].to(job.device), draws[-1].to(job.device)),
            }

        def joint(batch: Batch) -> Losses:
            return {**concentrate(batch), **vaporize(batch)}

        orders = {
            "concentrate-first": (concentrate, vaporize),
            "vaporize-first": (vaporize, concentrate),
            "joint": (joint,),
        }
        yield Phase(
            name="siamese",
            over=job.batches(job.forget, self.batch_size, fill=FILL),
            epochs=self.epochs,
            steps=orders[self.order] if self.vaporize else (concentrate,),
            optimizer=self.sgd([job.model, h]),
            lr=self.lr,
            clip=self.clip,
            schedule=cosine if self.schedule == "cosine" else constant,
            modules={"h": h} | ({"met": met} if met else {}),
            watch=met.measure if met else None,
            every=self.watch_every,
        )
