"""RandLab: learn random labels for D_f beside the true ones of D_r."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..data.batches import LEAST, one_pass
from ..data.views import View
from ..phase import Phase
from .base import Unlearner
from .card import Card
from .job import Job
from .relabel import Drawn, Labels, forget_first, joint, joint_reads, relabelled


@dataclass(frozen=True, kw_only=True)
class RandLab(Unlearner):
    """Learn random labels for D_f beside the true ones of D_r.

    >>> RandLab().labels, RandLab().drawn, RandLab().order
    ('retained', 'epoch', 'joint')
    """

    name = "randlab"
    card = Card(
        title="RandLab (random labels)",
        source="Golatkar, Achille, Soatto: Eternal Sunshine of the Spotless Net: Selective Forgetting in Deep "
        "Networks, 2020, arXiv 1911.04933 (as a baseline)",
        formula="min E_Df CE(f(x), ỹ) + E_Dr CE(f(x), y), ỹ random, from θ₀",
        memory="labels",
        authors={"labels": "all", "order": "forget-first", "lr": 0.013, "epochs": 10, "batch_size": 256},
        values="The public code of Fan et al. 2024 (SalUn, arXiv 2310.12508) for CIFAR-10, without its mask.  Others: "
        ".003 to .1, 10 epochs.  Ours: labels of classes that remain, since Retrain never names a class it never saw "
        "and forgotten classes that serve as each other's labels stay alive; joint batches, which batch norm needs; "
        "half of the epochs and of the batch, at nearly the same rate.",
        pitfalls=(
            "Labels drawn once are learned: forgotten records end unusually sure of a wrong class, as an attack sees.",
            "If y may be drawn, 1/K of the records are taught what they should forget.",
        ),
        deviations=("joint: the parts are mixed by proportion in every batch, not only on average.",),
    )
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 5
    batch_size: int = 128
    labels: Labels = "retained"
    drawn: Drawn = "epoch"
    order: Literal["joint", "forget-first"] = "joint"
    views: str | View = "simple"

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """D_r `epochs` times; D_f as often, up to the rounding of its share of a batch."""
        if self.order == "joint":
            once = joint_reads(forget, retain, self.batch_size)
        else:
            rows = {"forget": forget, "retain": retain}
            once = {part: one_pass(n, self.batch_size, fill=LEAST)[1] for part, n in rows.items()}
        return {part: self.epochs * rows for part, rows in once.items()}

    def phases(self, job: Job) -> Iterator[Phase]:
        """One phase over both parts."""
        relabel = relabelled(job, self.labels, self.drawn)
        arrange = joint if self.order == "joint" else forget_first
        over, learn = arrange(job, self.batch_size, relabel, self.views)
        yield Phase(
            name="randlab",
            over=over,
            epochs=self.epochs,
            steps=(learn,),
            optimizer=self.sgd([job.model]),
            lr=self.lr,
        )
