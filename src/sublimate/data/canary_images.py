"""What canaries look like: patchworks of another class, and noise."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .core import Data

GRID = 4  # patches a side: no training record fills more than one sixteenth of a canary, unless drawn again
SAMPLE = 256  # training images that tell what model-ready input looks like


def patchwork(data: Data, pools: dict[int, Tensor], label: int, g: torch.Generator) -> Tensor:
    """Patches of training images of one class, each in its place and each of another draw; never of class `label`."""
    others = [k for k in pools if k != label]
    pool = pools[others[int(torch.randint(len(others), (), generator=g))]]
    x = data.read(pool[torch.randint(len(pool), (GRID * GRID,), generator=g)])[0]
    down, right = (torch.arange(side) * GRID // side for side in x.shape[-2:])
    cells = (down[:, None] * GRID + right).expand(1, *x.shape[1:])
    return x.gather(0, cells)[0]


def noise(data: Data, natural: int) -> Callable[[int, torch.Generator], Tensor]:
    """A maker of noise over the whole range of pixels, or with mean and spread of model-ready input."""
    x = data.read(torch.arange(min(natural, SAMPLE)))[0]
    if not x.is_floating_point():
        return lambda _, g: torch.randint(256, x.shape[1:], generator=g).to(x.dtype)
    if data.pixels:
        return lambda _, g: torch.rand(x.shape[1:], generator=g).to(x.dtype)
    mean, std = x.float().mean((0, 2, 3), keepdim=True)[0], x.float().std((0, 2, 3), keepdim=True)[0]
    return lambda _, g: (mean + std * torch.randn(x.shape[1:], generator=g)).to(x.dtype)
