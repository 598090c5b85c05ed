"""Amnesiac unlearning, relabel form: fixed wrong labels for D_f, joined with D_r, by Adam."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..data.views import View
from ..phase import Phase
from .base import Unlearner
from .card import Card
from .job import Job
from .relabel import joint, joint_reads, relabelled


@dataclass(frozen=True, kw_only=True)
class Amnesiac(Unlearner):
    """Learn one fixed wrong label per record of D_f, joined with D_r, by Adam.

    >>> Amnesiac().reads(forget=100, retain=300)  # 4 batches of 96 + 32, or what is left
    {'forget': 384, 'retain': 900}
    """

    name = "amnesiac"
    card = Card(
        title="Amnesiac (relabel form)",
        source="Graves, Nagisetty, Ganesh: Amnesiac Machine Learning, 2021, arXiv 2010.10981 (there: Unlearning)",
        formula="min E_{Df ∪ Dr} CE(f(x), ỹ), ỹ ≠ y drawn evenly once for D_f, ỹ = y for D_r, from θ₀",
        memory="labels",
        authors={"lr": 1e-3, "epochs": 10, "batch_size": 64},
        values="The authors' ResNet-18 on CIFAR-100.  Others: 1e-4, 3 epochs, batch 128 (Foster et al., arXiv "
        "2308.07707) or 256 (Chundawat et al., arXiv 2205.08096).  Ours: few epochs as there, at the authors' rate.",
        pitfalls=(
            "It differs from RandLab only by the optimizer, the epochs and the exclusion of y: the code is the same.",
            "Fixed labels are learned: forgotten records end unusually sure of a wrong class, which an attack sees.",
            "Labels may be of classes that are forgotten too, and so keep them alive.",
        ),
        deviations=("D_f and D_r are mixed by proportion in every batch, not only on average.",),
    )
    lr: float = 1e-3
    epochs: int = 3
    batch_size: int = 128
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_r `epochs` times; D_f as often, up to the rounding of its share of a batch."""
        return {part: self.epochs * rows for part, rows in joint_reads(forget, retain, self.batch_size).items()}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over both parts."""
        over, learn = joint(job, self.batch_size, relabelled(job, "others", "once"), self.views)
        yield Phase(
            name="amnesiac",
            over=over,
            epochs=self.epochs,
            steps=(learn,),
            optimizer=self.adam([job.model]),
            lr=self.lr,
        )
