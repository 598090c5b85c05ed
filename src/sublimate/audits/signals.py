"""What a membership attack looks at: one number per record, HIGHER for what was more likely trained on.

Pure functions of logits and labels, in double.  Confidence and loss order the records alike; both are given because
both are asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..inference import confidence
from .membership import entropy


def negative_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """log p_y, exact also where p_y is so near 1 that it rounds to 1.

    >>> negative_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([0])).item().__round__(4)
    -0.6931
    """
    phi = confidence(logits, labels)
    return -torch.logaddexp(torch.zeros_like(phi), -phi)


def negative_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Σ p log p; the label is not used."""
    return -entropy(logits)


def margin(logits: Tensor, labels: Tensor) -> Tensor:
    """Logit of the label minus the largest other one."""
    z = logits.double()
    others = z.scatter(1, labels[:, None], float("-inf"))
    return z.gather(1, labels[:, None]).squeeze(1) - others.amax(1)


def negative_modified_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """(1 − p_y) log p_y + Σ_{i≠y} p_i log(1 − p_i), finite for finite logits."""
    log_p = logits.double().log_softmax(1)
    top = logits.argmax(1)
    log_rest = torch.log1p(-log_p.exp())  # exact for p ≤ ½, so for all but the top
    log_rest = log_rest.scatter(1, top[:, None], (negative_loss(logits, top) - confidence(logits, top))[:, None])
    others = (log_p.exp() * log_rest).scatter(1, labels[:, None], 0.0).sum(1)
    own = labels[:, None]
    return (log_rest.gather(1, own).exp() * log_p.gather(1, own)).squeeze(1) + others


def view_agreement(first: Tensor, second: Tensor) -> Tensor:
    """Minus the KL divergence between the outputs for two views of each record, both orders averaged.

    >>> view_agreement(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])).item() == 0
    True
    """
    p, q = first.double().log_softmax(1), second.double().log_softmax(1)
    return -((p.exp() - q.exp()) * (p - q)).sum(1) / 2


SIGNALS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "confidence": confidence,
    "loss": negative_loss,
    "entropy": negative_entropy,
    "margin": margin,
    "modified entropy": negative_modified_entropy,
}
