"""Labels for what shall be forgotten: adaptive label permutation, eq. 7, and its variants."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Permutation = Literal["paper", "authors", "retained", "uniform", "none", "matched"]


def flip_probability(ratios: Tensor, permutation: Permutation) -> Tensor:
    """Probability that class k gets another label.

    >>> flip_probability(torch.tensor([0.0, 0.5, 1.0]), "paper")  # K = 3
    tensor([0.0000, 0.5000, 0.6667])
    """
    K = len(ratios)
    if permutation == "paper":  # eq. 7 prints k; K, the class count, is meant (only K gives the stated limits)
        return 1 - 1 / (1 + (K - 1) * ratios)
    if permutation == "uniform":
        return torch.full_like(ratios, 1 - 1 / K)
    if permutation == "none":
        return torch.zeros_like(ratios)
    return ratios


def another(y: Tensor, allowed: Tensor, generator: torch.Generator) -> Tensor:
    """Another class evenly among the allowed ones; where there is none, the label stays.

    >>> another(torch.tensor([0, 1]), torch.tensor([True, True, False]), torch.Generator())
    tensor([1, 0])
    """
    weights = allowed.float().repeat(len(y), 1).scatter_(1, y[:, None], 0.0)
    stuck = weights.sum(1) == 0
    weights[stuck, y[stuck]] = 1.0
    return torch.multinomial(weights, 1, generator=generator).squeeze(1)


def permute(y: Tensor, ratios: Tensor, permutation: Permutation, generator: torch.Generator) -> Tensor:
    """Adaptive label permutation p(y), eq. 7: keep the label with some probability, else another class evenly.

    "retained" moves only to classes that are not wholly forgotten.
    """
    allowed = ratios < 1 if permutation == "retained" else torch.ones_like(ratios, dtype=torch.bool)
    flip = torch.rand(y.shape, generator=generator) < flip_probability(ratios, permutation)[y]
    return torch.where(flip, another(y, allowed, generator), y)
