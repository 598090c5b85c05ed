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


def chance_alike(delta: float, null_se: float, correlation: Tensor, estimated_se: float = 0.0) -> float:
    """Chance that every score shows equality within δ, if forgotten records are like never-seen ones.

    The AUCs then lie around .5 with this standard error, and go together as the ranks of the scores do; `estimated_se`
    is what an audit takes it for.  Where δ cannot be resolved, no audit passes.

    >>> round(chance_alike(0.05, 0.015, torch.eye(1)), 2), round(chance_alike(0.05, 0.015, torch.eye(5)), 2)
    (0.91, 0.63)
    """
    if not resolvable(delta, null_se):
        return 0.0
    at_either_end = math.sqrt((0.5 - delta) * (0.5 + delta)) / 0.5
    at_delta = max(null_se, estimated_se) * at_either_end  # as `tost` has it
    most = (delta - NORMAL.inv_cdf(1 - ALPHA) * at_delta) / null_se
    values, vectors = torch.linalg.eigh(correlation.double())
    root = vectors * values.clamp(min=0.0).sqrt()
    drawn = torch.randn(DRAWS, len(root), dtype=torch.double, generator=stream(0, "audit", "chance")) @ root.T
    return float((drawn.abs() < most).all(1).double().mean())


def estimated_se(forget: Tensor, control: Tensor) -> float:
    """The standard error that `auc_interval` finds on average between alike groups with these labels.

    It is wary of classes of few records, and takes it for more than it is.

    >>> from sublimate.audits.intervals import null_se
    >>> one_each, twenty_each = torch.arange(50), torch.arange(50).repeat(20)
    >>> round(estimated_se(one_each, twenty_each), 3), round(null_se(50, 1000), 3)
    (0.082, 0.042)
    """
    shared = forget.unique()[torch.isin(forget.unique(), control)]
    sizes = [(int((forget == k).sum()), int((control == k).sum())) for k in shared]
    n, m = (sum(size) for size in zip(*sizes, strict=True))
    own = ((f / n) ** 2 * (_usual_variance(f, f / n) + _usual_variance(c, c / m)) for f, c in sizes)
    return math.sqrt(sum(own))


def _usual_variance(n: int, prior: float) -> float:
    """What the variance of the mean of `n` even placements is taken for, with a part of one imagined at both ends."""
    return ((n - 1) / 12 + prior * (1 / 4 + 1 / (12 * n))) / (n - 1 + prior) / n


def _places(scores: Tensor, labels: Tensor) -> Tensor:
    """Each record's place in its class, from −.5 to .5."""
    places = torch.zeros(len(scores), dtype=torch.double)
    for k in labels.unique():
        own = scores[labels == k]
        places[labels == k] = placements(own, own) - 0.5
    return places
