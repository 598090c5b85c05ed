"""Which classes a network knows, and what it takes records of a forgotten class for."""

from __future__ import annotations

import torch
from torch import Tensor

from ..inference import accuracy

MOST_CONFUSED = 10  # classes for which a forgotten class is taken


def by_class(z: Tensor, y: Tensor, classes: tuple[str, ...]) -> dict[str, float]:
    """Accuracy on each class that has records.

    >>> by_class(torch.eye(2), torch.tensor([0, 0]), ("cat", "dog"))
    {'cat': 50.0}
    """
    return {classes[int(k)]: round(accuracy(z[y == k], y[y == k]), 2) for k in y.unique()}


def confusion(z: Tensor, y: Tensor, named: Tensor | None, classes: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """What the records of each named class are taken for, in percent, the most frequent answers only.

    >>> confusion(torch.eye(2), torch.tensor([0, 0]), torch.tensor([0]), ("cat", "dog"))
    {'cat': {'cat': 50.0, 'dog': 50.0}}
    """
    found = {}
    for k in [] if named is None else named.tolist():
        said = z[y == k].argmax(1)
        counts = torch.bincount(said, minlength=len(classes))
        often = [int(c) for c in counts.argsort(descending=True, stable=True)[:MOST_CONFUSED] if counts[c]]
        if often:
            found[classes[k]] = {classes[c]: round(100 * int(counts[c]) / len(said), 2) for c in often}
    return found
