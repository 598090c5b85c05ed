"""Rewinding (SCRUB+R): of all epochs' networks, the one that errs on D_f as on records it has never seen."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ..errors import InputRefused
from ..inference import accuracy, predict
from ..splits import Part
from .job import Job


def nearest(errors: Sequence[float], target: float) -> int:
    """The epoch whose forget error is nearest to the target; of equals the last, which has been repaired the longest.

    >>> nearest([0.0, 20.0, 60.0, 60.0], 45.0)
    3
    """
    return min(reversed(range(len(errors))), key=lambda e: abs(errors[e] - target))


def never_seen(job: Job) -> Part:
    """Records of the forget distribution that training did not see: those of `val` in the classes of the request."""
    mine = job.val and job.val.where(torch.isin(job.val.labels, job.forget.labels))
    if not mine:
        raise InputRefused(
            "Rewinding needs never-seen records of the classes in the request, and there are none.",
            "Give val=…, or use rewind=False.",
        )
    return mine


class Rewind(nn.Module):
    """The networks of all epochs, the original first; a module, so that they are saved with the run."""

    def __init__(self, job: Job, epochs: int) -> None:
        super().__init__()
        self._job, self._epochs, self._unseen = job, epochs, never_seen(job)
        self.states = nn.ModuleList(job.teacher() for _ in range(epochs + 1))

    def keep(self, epoch: int) -> None:
        """Keep the student as it is after this epoch; after the last one, go back to the best."""
        self.states[epoch].load_state_dict(self._job.model.state_dict())
        if epoch == self._epochs:
            self._go_back()

    def _go_back(self) -> None:
        errors = [error(state, self._job.forget) for state in self.states]
        target = error(self._job.model, self._unseen)
        chosen = nearest(errors, target)
        self._job.model.load_state_dict(self.states[chosen].state_dict())
        self._job.choices |= {"rewound_to": chosen, "forget_errors": errors, "target_error": target}


def error(model: nn.Module, part: Part) -> float:
    """Wrong answers, in percent."""
    return 100 - accuracy(predict(model, part), part.labels)
