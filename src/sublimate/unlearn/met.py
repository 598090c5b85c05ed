"""When is it done?  When the network knows the forgotten records no better than records it never saw."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import InputRefused
from ..inference import accuracy, confidence, predict
from ..phase import Measured
from .job import Job
from .matching import ENDS, quantiles, ranks

FORGET_SAMPLE, VAL_SAMPLE = 500, 2000  # rows per look: a look costs about a sixth of ten iterations
GONE = 0.5  # per cent right on whole classes that count as none
CLASS_COST, RECORD_COST = 2.5, 0.5  # points of retained accuracy that may be lost


class Met(nn.Module):
    """Looks at forgotten and never-seen records now and then; a module, so that its state is saved with the run.

    A network that never saw a class is never right about it: whole classes are done when the accuracy is (almost) nil.
    Any other record has a target: the φ that a never-seen record of its class holds, in the present network, at the
    rank which this record had in the original network (see `matching`).
    """

    targets: Tensor  # per row of D_f
    forgotten: Tensor  # whether nothing was left to forget at the last look
    recovered: Tensor  # whether the rest was well then

    def __init__(self, job: Job, stops: bool = True) -> None:
        super().__init__()
        if job.val is None or not bool(job.remaining[job.val.labels].any()):
            raise InputRefused(
                "There are no never-seen records of the classes that remain.",
                'Give val=…, or use until="epochs" and another permutation.',
            )
        self._job, self._stops = job, stops
        self._val = job.val.sample(VAL_SAMPLE)
        self._places = job.forget.places(FORGET_SAMPLE)
        self._forget = job.forget.where(self._places)
        self._kept = job.remaining[self._val.labels]
        self._whole = torch.isin(self._forget.labels, job.forgotten)
        val = predict(job.original, self._val)
        self._before = accuracy(val[self._kept], self._val.labels[self._kept])
        whole = bool(self._whole.any())
        # A class takes something of its neighbours with it, a few records must not; one never-seen record is the least.
        self._tolerance = max(CLASS_COST if whole else RECORD_COST, 100 / int(self._kept.sum()))
        self._ranks = ranks(job, confidence(predict(job.original, job.forget), job.forget.labels), cut=ENDS)
        self.register_buffer("targets", self._matched(val))
        self.register_buffer("forgotten", torch.tensor(False))
        self.register_buffer("recovered", torch.tensor(stops and not whole))  # few records: first the push alone

    def above(self, places: Tensor, l1: Tensor, l2: Tensor, y: Tensor) -> Tensor:
        """Which of these rows of D_f the network still knows better than it should, by the mean φ of two views."""
        phi = (confidence(l1.detach(), y) + confidence(l2.detach(), y)) / 2
        return phi > self.targets[places].to(phi.device)

    def measure(self) -> tuple[Measured, str | None]:
        """Accuracies, and the median distance of forgotten records to their targets; a reason to stop, or None."""
        val, forget = predict(self._job.model, self._val), predict(self._job.model, self._forget)
        self.targets.copy_(self._matched(val))
        hit = 100 * (forget.argmax(1) == self._forget.labels).double()
        excess = (confidence(forget, self._forget.labels) - self.targets[self._places])[~self._whole]
        seen: Measured = {
            "retained": accuracy(val[self._kept], self._val.labels[self._kept]),
            "forgotten": float(hit.mean()),
            "gone": float(hit[self._whole].mean()) if bool(self._whole.any()) else 0.0,  # accuracy on whole classes
            "excess": float(excess.median()) if len(excess) else 0.0,
        }
        if not self._stops:
            return seen, None
        self.forgotten.fill_(seen["gone"] <= GONE and seen["excess"] <= 0)
        self.recovered.fill_(seen["retained"] >= self._before - self._tolerance)
        done = bool(self.forgotten) and bool(self.recovered)
        return seen, "the forgotten records look never seen and the rest has recovered" if done else None

    def _matched(self, val: Tensor) -> Tensor:
        phi = confidence(val, self._val.labels)
        return quantiles(phi, self._val.labels, self._job.forget.labels, self._ranks)
