"""What several sources share: mosaics of tiles, and the normalisation of a training set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import InputRefused
from .core import Reader

Normalisation = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation, one value per channel, of pixels in 0..1."""


def tiles(file: Path | IO[bytes], side: int) -> Tensor:
    """The square tiles of one big picture, row by row, as (N, side, side, C)."""
    with Image.open(file) as picture:
        pixels = np.asarray(picture)
    height, width = pixels.shape[:2]
    grid = pixels.reshape(height // side, side, width // side, side, -1)
    return torch.from_numpy(grid.swapaxes(1, 2).reshape(-1, side, side, grid.shape[-1]))


def channel_stats(read: Reader, rows: Tensor) -> Normalisation:
    """Mean and standard deviation of each channel over these rows, to five decimals.

    >>> x = torch.tensor([0, 255], dtype=torch.uint8).view(1, 1, 1, 2)
    >>> channel_stats(x.__getitem__, torch.tensor([0]))
    ((0.5,), (0.5,))
    """
    count, total, square, unit = 0, np.zeros(1), np.zeros(1), 1.0
    for some in torch.split(rows, 256):  # a whole set as doubles would not fit into memory
        images = read(some)
        unit = 1.0 if images.is_floating_point() else 255.0
        x = images.numpy().astype(np.float64)
        count += x.size // x.shape[1]
        total = total + x.sum((0, 2, 3))
        square = square + np.einsum("nchw,nchw->c", x, x)
    mean = total / max(count, 1)  # a table without training rows is refused by Data itself
    std = np.sqrt(np.maximum(square / max(count, 1) - mean**2, 0))
    # A channel that never changes has no scale of its own.
    return tuple((mean / unit).round(5).tolist()), tuple(s or 1.0 for s in (std / unit).round(5).tolist())


def check_normalisation(name: str, channels: int, mean: Sequence[float], std: Sequence[float]) -> Normalisation:
    """One finite mean and one positive standard deviation per channel, or a typed error."""
    if len(mean) != channels or len(std) != channels:
        raise InputRefused(
            f"{name} has {channels} channels but {len(mean)} values of mean and {len(std)} of std.",
            "Give one value per channel.",
        )
    if not (np.isfinite([*mean, *std]).all() and min(std) > 0):
        raise InputRefused(f"{name} has a std that is not above 0, or a value that is not finite.", "Correct it.")
    return tuple(map(float, mean)), tuple(map(float, std))
