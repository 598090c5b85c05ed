"""Membership: can one tell from the outputs that a record was trained on?"""

from __future__ import annotations

import torch
from torch import Tensor


def entropy(logits: Tensor) -> Tensor:
    """Entropy of the softmax, in nats.

    >>> entropy(torch.tensor([[0.0, 0.0]])).item().__round__(4)
    0.6931
    """
    each: Tensor = torch.special.entr(logits.double().softmax(1))  # 0 · log 0 = 0
    return each.sum(1)


def entropy_mia(member: Tensor, nonmember: Tensor, target: Tensor) -> float:
    """The paper's attack: share (%) of the targets that a threshold on entropy calls members.

    A balanced logistic regression on one number, fitted on members (retained) against non-members (test).  It is no
    verdict: a truly retrained network does not score 0.  Near Retrain is good.
    """
    from sklearn.linear_model import LogisticRegression

    x = torch.cat([entropy(member), entropy(nonmember)])[:, None].numpy()
    y = torch.cat([torch.ones(len(member)), torch.zeros(len(nonmember))]).numpy()
    attack = LogisticRegression(class_weight="balanced").fit(x, y)
    return 100.0 * float(attack.predict(entropy(target)[:, None].numpy()).mean())
