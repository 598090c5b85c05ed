"""Networks that vote."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .outputs import logits


class Ensemble(nn.Module):
    """Several networks as one: the log of the mean of their softmaxes, so that argmax is their vote.

    >>> one, two = nn.Linear(1, 2), nn.Linear(1, 2)
    >>> Ensemble([one, two])(torch.ones(3, 1)).exp().sum(1).round(decimals=4).tolist()  # probabilities
    [1.0, 1.0, 1.0]
    """

    def __init__(self, shards: Iterable[nn.Module]) -> None:
        super().__init__()
        self.shards = nn.ModuleList(shards)

    def forward(self, x: Tensor) -> Tensor:
        """Images -> log of the mean probability of each class."""
        votes = torch.stack([logits(shard(x)).log_softmax(1) for shard in self.shards])
        return votes.logsumexp(0) - math.log(len(self.shards))
