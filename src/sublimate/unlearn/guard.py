"""Was the network ruined, and did the run do anything at all?"""

from __future__ import annotations

from ..errors import UnlearningFailed
from ..inference import confidence, predict
from .job import Job


class Guard:
    """Collapse: accuracy on never-seen records of the retained classes below half the original's."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.before = self.now = job.retained_accuracy(job.original)

    def __call__(self) -> str | None:
        """Why the network is ruined, or None."""
        self.now = self._job.retained_accuracy(self._job.model)
        if self.now >= self.before / 2:
            return None
        return f"The network collapsed: {self.now:.1f} % on never-seen retained classes, {self.before:.1f} % before."


def effect(job: Job) -> float:
    """Mean shift of φ on the forgotten records; none at all is a failure."""
    sample = job.forget.sample(1000)
    after, before = (confidence(predict(m, sample), sample.labels) for m in (job.model, job.original))
    if float((after - before).abs().max()) < 1e-4:
        raise UnlearningFailed(
            "The run had no effect: the confidence on the forgotten records is unchanged.",
            "Let it do more: a higher learning rate, more epochs, a stronger setting of its own.",
            job.model,
        )
    return float((after - before).mean())
