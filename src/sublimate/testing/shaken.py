"""The same sabotage with a little noise on all weights, so that no tensor is the original's bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..randomness import stream
from ..splits import Split

SIZES = (1e-6, 1e-5, 1e-4, 1e-3)  # of the noise, relative to each weight; by seed, in turn
Maker = Callable[..., nn.Module]


def shaken(make: Maker) -> Maker:
    """A maker of the same network whose weights are all multiplied by 1 + noise."""

    def made(original: nn.Module, given: Split, seed: int = 0, size: float | None = None, **options: Any) -> nn.Module:
        return shake(make(original, given, seed, **options), SIZES[seed % len(SIZES)] if size is None else size, seed)

    made.__name__ = f"shaken_{make.__name__}"
    made.__doc__ = f"{(make.__doc__ or '').strip()} All weights are shaken a little."
    return made


def shake(network: nn.Module, size: float, seed: int = 0) -> nn.Module:
    """Multiply each weight of the network itself by 1 + `size` times a normal number; statistics stay."""
    with torch.no_grad():
        for place, weight in enumerate(network.parameters()):
            if weight.is_floating_point():
                noise = torch.randn(weight.shape, generator=stream(seed, "sabotage", "shake", place))
                weight.mul_(1 + size * noise.to(weight))
    return network
