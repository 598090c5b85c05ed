"""The two sets that need no download: scikit-learn's digits, and a small part of Fashion-MNIST (MIT licence)."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import torch
from torch import Tensor

from .core import Data
from .pixels import channel_stats, tiles


def digits() -> Data:
    """8x8 handwritten digits: 1,437 training and 360 test rows, split the same way forever."""
    from sklearn.datasets import load_digits  # costs half a second that the other sources need not pay

    table = load_digits()
    labels = torch.from_numpy(table.target).long()
    images = torch.from_numpy(table.images).mul(255 / 16).round().to(torch.uint8)[:, None]
    train, test = _fifth(labels)
    rows = torch.cat([train, test])
    mean, std = channel_stats(images.__getitem__, train)
    return Data(
        name="digits",
        images=images[rows],
        labels=labels[rows],
        sizes=(len(train), len(test), 0),
        classes=tuple("0123456789"),
        ids=tuple(map(str, train.tolist())),
        mean=mean,
        std=std,
        flip=False,
    )


def _fifth(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Shuffle, sort by class, hold out every fifth: each class gives its 20 % to within one row."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    by_class = order[labels[order].argsort(stable=True)]
    held_out = torch.zeros(len(labels), dtype=torch.bool)
    held_out[by_class[::5]] = True
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


def fashion_mini() -> Data:
    """28x28 grey pictures of clothes: the first 600 training and 100 test images of each class."""
    folder = files(__package__) / "fashion_mini"
    parts = []
    for name in ("train.png", "test.png"):
        with (folder / name).open("rb") as file:
            parts.append(tiles(file, 28))
    with (folder / "labels.npz").open("rb") as file, np.load(file, allow_pickle=False) as table:
        labels = torch.from_numpy(np.concatenate([table["train"], table["test"]])).long()
        ids, classes = tuple(map(str, table["train_index"])), tuple(map(str, table["names"]))
    images = torch.cat(parts).permute(0, 3, 1, 2).contiguous()
    mean, std = channel_stats(images.__getitem__, torch.arange(len(parts[0])))
    return Data(
        name="fashion-mini",
        images=images,
        labels=labels,
        sizes=(len(parts[0]), len(parts[1]), 0),
        classes=classes,
        ids=ids,
        mean=mean,
        std=std,
    )
