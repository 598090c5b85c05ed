"""Was the network ruined, and did the run do anything at all?"""

from __future__ import annotations

import copy
from math import isfinite, isnan

from torch import nn

from ..errors import UnlearningFailed
from ..inference import confidence, predict
from ..splits import Part
from .job import Job


class Guard:
    """Collapse: accuracy on never-seen records of the retained classes below half the original's."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.before, self.now = job.retained_accuracy(job.original), float("nan")
        self.kept = 0.0  # of a collapse: the share of the accuracy that was left

    def __call__(self) -> str | None:
        """Why the network is ruined, or None."""
        self.now = self._job.retained_accuracy(self._job.model)
        if self.now >= self.before / 2:
            return None
        self.kept = self.now / self.before
        return f"The network collapsed: {self.now:.1f} % on never-seen retained classes, {self.before:.1f} % before."

    @property
    def lost(self) -> float:
        """Points lost at the last look; a run that was resumed at its end had none yet."""
        if isnan(self.now):
            self()
        return self.before - self.now


def told(shift: float) -> float | None:
    """A shift as the record of a run tells it.

    >>> told(-1.23456), told(float("inf"))
    (-1.235, None)
    """
    return round(shift, 3) if isfinite(shift) else None


def effect(model: nn.Module, original: nn.Module, forget: Part) -> float:
    """Mean shift of φ on the forgotten records; none at all is a failure."""
    sample = forget.sample(1000)
    said = predict(model, sample)
    if not bool(said.isfinite().all()):
        raise UnlearningFailed(
            "The network gives answers that are no numbers.",
            "Use a lower learning rate or fewer epochs.",
            copy.deepcopy(original),
        )
    after, before = (confidence(z, sample.labels) for z in (said, predict(original, sample)))
    if float((after - before).abs().max()) < 1e-4:
        raise UnlearningFailed(
            "The run had no effect: the confidence on the forgotten records is unchanged.",
            "Let it do more: a higher learning rate, more epochs, a stronger setting of its own.",
            model,
        )
    return float((after - before).mean())
