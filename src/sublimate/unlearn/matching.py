"""Never-seen targets: the φ that a record would have, had the network never seen it.

A record keeps its rank: how easy it is among its like in the original network is how easy it would be among never-seen
records of its like (Spearman .73 with a truly retrained ResNet-20).  Its like are the records of its class, or of
several classes where each has too few.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import InputRefused
from ..inference import confidence, predict
from ..splits import Part
from .job import Job

ENOUGH = 20  # records of a class that make a distribution
RETAINED_SAMPLE = 2000
ENDS = 0.1
A_CROWD = 50  # records that are judged by their distribution; of fewer, each is looked at by itself


def alike(labels: Tensor) -> list[Tensor]:
    """The classes of forgotten records, in groups that are ranked together: each by itself, or all that have few
    records, if these together are a crowd.

    Ranked among themselves, the records of a crowd take the never-seen distribution, whatever the luck of the draw.

    >>> alike(torch.tensor([0] * 30 + [1] * 30 + [2] * 40 + [3] * 10))
    [tensor([0]), tensor([1]), tensor([2]), tensor([3])]
    >>> alike(torch.arange(60) // 10)
    [tensor([0, 1, 2, 3, 4, 5])]
    """
    classes, counts = labels.unique(return_counts=True)
    few = counts < ENOUGH
    together = int(counts[few].sum()) >= A_CROWD
    alone = classes[~few] if together else classes
    return [*alone.view(-1, 1), *([classes[few]] if together else [])]


def ranks(job: Job, mine: Tensor, cut: float) -> Tensor:
    """Rank of each forgotten record's φ (`mine`) in the original network: among the forgotten ones of its like when
    they are many, else among retained ones of its class.

    Among retained ones the ends are cut: a few records make no distribution, and each alone must not stand out.
    """
    kept = job.retain.sample(RETAINED_SAMPLE)
    others = _read(job, kept)
    found = torch.empty_like(mine)
    for group in alike(job.forget.labels):
        rows, own = torch.isin(job.forget.labels, group), others[torch.isin(kept.labels, group)]
        if int(rows.sum()) >= ENOUGH or len(own) < ENOUGH:
            found[rows] = (mine[rows].argsort().argsort().double() + 0.5) / int(rows.sum())
        else:
            below = torch.searchsorted(own.sort().values, mine[rows])
            found[rows] = (below.double() / len(own)).clamp(cut, 1 - cut)
    return found


def _read(job: Job, kept: Part) -> Tensor:
    """φ of retained records in the original network; what a method learns from D_r is counted."""
    teacher, batches, found = job.teacher(), job.batches(kept, 500), torch.empty(len(kept), dtype=torch.double)
    with torch.no_grad():
        for t in range(len(batches)):
            batch = batches.at(t)
            found[batch.places] = confidence(job.logits(kept, batch.x, teacher), batch.y).cpu()
    return found


def quantiles(phi: Tensor, labels: Tensor, mine: Tensor, at: Tensor) -> Tensor:
    """Never-seen φ at each record's rank, among its like when there are enough of them.

    >>> phi, labels = torch.arange(21.0), torch.zeros(21, dtype=torch.long)
    >>> quantiles(phi, labels, torch.tensor([0, 0]), torch.tensor([0.5, 0.9]))
    tensor([10., 18.])
    """
    targets = torch.empty(len(mine), dtype=phi.dtype)
    for group in alike(mine):
        rows, own = torch.isin(mine, group), phi[torch.isin(labels, group)]
        targets[rows] = torch.quantile(own if len(own) >= ENOUGH else phi, at[rows].to(phi.dtype))
    return targets


class Targets(nn.Module):
    """The present network's never-seen targets per row of D_f; a module, so that they are saved with the run."""

    values: Tensor

    def __init__(self, job: Job) -> None:
        super().__init__()
        if job.val is None:
            raise InputRefused("There are no never-seen records to match.", "Give val=…, or use another method.")
        self._job, self._val = job, job.val
        self._phi = confidence(predict(job.original, job.forget), job.forget.labels)
        self._ranks = ranks(job, self._phi, cut=ENDS if len(job.forget) < A_CROWD else 0.0)
        self.register_buffer("values", self._matched(job.original))

    def far(self, near: float) -> Tensor:
        """Which records lie, before the run, further than that from their targets, and all of wholly forgotten
        classes; not none.
        """
        found = (self._phi - self.values).abs() > near
        found |= torch.isin(self._job.forget.labels, self._job.forgotten)
        return found if bool(found.any()) else torch.ones_like(found)

    def refresh(self) -> None:
        """Look at the never-seen records again, in the present network."""
        self.values.copy_(self._matched(self._job.model))

    def _matched(self, model: nn.Module) -> Tensor:
        phi = confidence(predict(model, self._val), self._val.labels)
        return quantiles(phi, self._val.labels, self._job.forget.labels, self._ranks)
