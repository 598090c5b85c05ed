"""How far an erased network is from a retrained (or a random) one, and how well its confidences are calibrated."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from .evaluation import Scores


def js(p: Tensor, q: Tensor) -> Tensor:
    """Jensen–Shannon divergence of each row of two tables of probabilities, in nats: 0 if equal, ln 2 if disjoint.

    >>> js(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])).item().__round__(4)
    0.6931
    """
    p, q = p.double(), q.double()
    middle = ((p + q) / 2).clamp(min=torch.finfo(torch.double).tiny)  # 0 · log(0 / 0) = 0
    each: Tensor = torch.xlogy(p, p / middle) + torch.xlogy(q, q / middle)
    return each.sum(1) / 2


def zrf(erased: Tensor, random: Tensor) -> float:
    """1 − mean JS between the outputs (logits) of the erased and of an untrained network on D_f; 1: like random."""
    return 1 - float(js(_softmax(erased), _softmax(random)).mean())


def activation_distance(erased: Tensor, retrained: Tensor) -> float:
    """Mean Euclidean distance between the softmax outputs for the same records, from logits."""
    return float((_softmax(erased) - _softmax(retrained)).norm(dim=1).mean())


def completeness(erased: Tensor, retrained: Tensor) -> float:
    """Share of the records for which both networks choose the same class, from logits."""
    return float((erased.argmax(1) == retrained.argmax(1)).double().mean())


def tow(erased: Scores, retrained: Scores, first: Literal["acc_df", "mia"] = "acc_df") -> float | None:
    """Tug of war: Π (1 − |Δ|) over forget, retain and test accuracy, 1 for Retrain; with "mia" first it is ToW-MIA.

    >>> tow(Scores(acc_df=50.0, acc_dr=90.0, ta=80.0), Scores(acc_df=70.0, acc_dr=90.0, ta=80.0))
    0.8
    """
    gaps = _gaps(erased, retrained, first, "acc_dr", "ta")
    return None if gaps is None else math.prod(1 - gap / 100 for gap in gaps)


def average_gap(erased: Scores, retrained: Scores) -> float | None:
    """Mean of |Δ| over forget, retain and test accuracy and MIA, in points.  Mixed units: show the parts too."""
    gaps = _gaps(erased, retrained, "acc_df", "acc_dr", "ta", "mia")
    return None if gaps is None else sum(gaps) / 4


def calibration_error(logits: Tensor, labels: Tensor, bins: int = 15) -> float:
    """Expected calibration error: |accuracy − confidence| in bins of equal width, weighted by the records in them."""
    confident, chosen = _softmax(logits).max(1)
    place = (confident * bins).ceil().long() - 1  # a bin holds its upper edge
    off = torch.zeros(bins, dtype=torch.double).index_add(0, place, (chosen == labels).double() - confident)
    return float(off.abs().sum() / len(labels))


def _softmax(logits: Tensor) -> Tensor:
    return logits.double().softmax(1)


def _gaps(erased: Scores, retrained: Scores, *names: str) -> list[float] | None:
    """Absolute gaps, or None when one of the figures is missing."""
    found = erased.gap(retrained)
    gaps = [abs(gap) for name in names if (gap := found[name]) is not None]
    return gaps if len(gaps) == len(names) else None
