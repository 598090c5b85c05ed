"""More training rows for a table; the given table stays as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from .core import Data, Reader


def with_training_rows(data: Data, x: Tensor, y: Tensor, ids: tuple[str, ...], digest: str) -> Data:
    """The data with rows put behind its training rows; `digest` tells these rows from others of the same ids.

    >>> zero, one = torch.zeros(2, 1, 4, 4), torch.ones(1, 1, 4, 4)
    >>> data = Data(name="toy", images=zero, labels=torch.tensor([0, 1]), sizes=(1, 1, 0), classes=("a", "b"))
    >>> more = with_training_rows(data, one, torch.tensor([1]), ("new",), digest="")
    >>> more.labels.tolist(), more.sizes, more.ids
    ([0, 1, 1], (2, 1, 0), ('0', 'new'))
    """
    train, test, val = data.sizes
    if isinstance(data.images, Tensor):
        images: Tensor | Reader = torch.cat([data.images[:train], x, data.images[train:]])
    else:
        images = partial(_read, data.images, x, train)
    counts, added = data.class_counts, y.bincount(minlength=len(data.classes)).tolist()
    return replace(
        data,
        images=images,
        labels=torch.cat([data.labels[:train], y, data.labels[train:]]),
        sizes=(train + len(y), test, val),
        ids=data.ids + ids,
        class_counts=counts and tuple(map(sum, zip(counts, added, strict=True))),
        content=data.content and f"{data.content} {digest}",
    )


def _read(read: Reader, x: Tensor, first: int, rows: Tensor) -> Tensor:
    """A streamed table with the images `x` put in before row `first`."""
    own, behind = (rows >= first) & (rows < first + len(x)), rows >= first + len(x)
    found = x.new_empty(len(rows), *x.shape[1:])
    found[own] = x[rows[own] - first]
    if not bool(own.all()):
        found[~own] = read((rows - len(x) * behind)[~own])
    return found
