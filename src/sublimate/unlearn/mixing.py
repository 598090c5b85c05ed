"""Retained and forgotten records side by side in one batch: batch norm sees both, and never a single row."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data.batches import Batch
from ..data.views import View
from ..inference import prepare
from ..models.outputs import logits as as_logits
from .job import Job


def joint_logits(
    job: Job, retain: Batch, forget: Batch, views: str | View, of_forget: str | View | None = None
) -> tuple[Tensor, Tensor]:
    """The student's logits for one batch of each part, from one pass over both; D_f may be seen in other views."""
    seen = (job.retain, retain, views), (job.forget, forget, views if of_forget is None else of_forget)
    x = torch.cat([prepare(part, job.seen(part, batch, which)) for part, batch, which in seen])
    z = as_logits(job.model(x))
    return z[: len(retain.y)], z[len(retain.y) :]
