"""How often would a network that never saw the records be called alike?  It says whether there are enough of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ..inference import placements
from ..randomness import stream
from .outputs import Outputs
from .population import ALPHA, Scorer
from .statistics import NORMAL, resolvable

DRAWS = 20_000  # of all AUCs at once: the chance is right to less than a point


def rank_correlation(out: Outputs, scorers: Mapping[str, Scorer]) -> Tensor:
    """Spearman's correlation between the scores, within the classes; a score that is constant goes with none."""
    places = torch.stack([_places(score(out), out.labels) for score in scorers.values()])
    covariance = places @ places.T
    size = covariance.diagonal().sqrt().clamp(min=1e-12)
    return (covariance / size.outer(size)).fill_diagonal_(1.0)


def chance_alike(delta: float, null_se: float, correlation: Tensor) -> float:
    """Chance that every score shows equality within δ, if forgotten records are like never-seen ones.

    The AUCs then lie around .5 with this standard error, and go together as the ranks of the scores do.  Where δ
    cannot be resolved, no audit passes.

    >>> round(chance_alike(0.05, 0.015, torch.eye(1)), 2), round(chance_alike(0.05, 0.015, torch.eye(5)), 2)
    (0.91, 0.63)
    """
    if not resolvable(delta, null_se):
        return 0.0
    at_delta = 2 * null_se * math.sqrt((0.5 - delta) * (0.5 + delta))  # as `tost` has it, at either end
    most = (delta - NORMAL.inv_cdf(1 - ALPHA) * at_delta) / null_se
    values, vectors = torch.linalg.eigh(correlation.double())
    root = vectors * values.clamp(min=0.0).sqrt()
    drawn = torch.randn(DRAWS, len(root), dtype=torch.double, generator=stream(0, "audit", "chance")) @ root.T
    return float((drawn.abs() < most).all(1).double().mean())


def _places(scores: Tensor, labels: Tensor) -> Tensor:
    """Each record's place in its class, from −.5 to .5."""
    places = torch.zeros(len(scores), dtype=torch.double)
    for k in labels.unique():
        own = scores[labels == k]
        places[labels == k] = placements(own, own) - 0.5
    return places
