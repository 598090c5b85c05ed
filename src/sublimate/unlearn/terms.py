"""The terms of Siamese unlearning, eq. 3-6.  Letters follow the paper: l = f(x), p = h(l)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


def d(p: Tensor, l: Tensor) -> Tensor:  # noqa: E741
    """Negative cosine similarity, eq. 3."""
    return -F.cosine_similarity(p, l, dim=1).mean()


def concentration(p1: Tensor, p2: Tensor, l1: Tensor, l2: Tensor) -> Tensor:
    """L_KC, eq. 5: pull the two views of a retained record together."""
    return (d(p1, l2.detach()) + d(p2, l1.detach())) / 2


def vaporization(p1: Tensor, p2: Tensor, l1: Tensor, l2: Tensor) -> Tensor:
    """L_KV, eq. 4: drive the two views of a forgotten record apart."""
    return -concentration(p1, p2, l1, l2)


def sce(l1: Tensor, l2: Tensor, y1: Tensor, y2: Tensor) -> Tensor:
    """Symmetric cross entropy, eq. 6; the paper has y1 = y2."""
    return (F.cross_entropy(l1, y1) + F.cross_entropy(l2, y2)) / 2


def predictor(K: int, hidden: int) -> nn.Sequential:
    """h: K → 64 → K with batch norm between, without biases; thrown away afterwards."""
    return nn.Sequential(
        nn.Linear(K, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, K, bias=False)
    )
