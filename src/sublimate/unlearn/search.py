"""A strength that is given, or searched on never-seen `val` records; statistics are gathered once for all values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from torch import nn

from .job import Job
from .judge import Judge, best

Strength = float | Literal["search"]


def settled(
    job: Job, alpha: Strength, candidates: Sequence[float], apply: Callable[[float], nn.Module]
) -> Callable[[], None]:
    """What the last phase does when it is over: apply α, or the candidate that is judged best.

    `apply` edits the student, starting from the original each time.  Without `val` a search is refused at once.
    """
    judge = Judge(job.original, job.forget, job.val, job.remaining) if alpha == "search" else None

    def finish() -> None:
        if judge:
            job.choices["alpha"] = best(candidates, apply, judge)[0]
        apply(job.choices["alpha"] if alpha == "search" else alpha)

    return finish
