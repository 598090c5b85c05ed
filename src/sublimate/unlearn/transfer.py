"""Knowledge transfer without data: a generator of images, a gate, and attention maps that say where a network looks.

The maps: Zagoruyko, Komodakis: Paying More Attention to Attention, ICLR 2017, arXiv 1612.03928.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, log2, prod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SMALLEST = 8  # side of the generator's first feature map, at most
WIDE = 64


def generator(z: int, channels: int, height: int, width: int) -> nn.Sequential:
    """G: noise to images of any shape, doubling the side up to it; as normal as what a network takes.

    >>> import torch
    >>> generator(16, 3, 28, 20)(torch.zeros(2, 16)).shape
    torch.Size([2, 3, 28, 20])
    """
    doublings = max(0, ceil(log2(max(height, width) / SMALLEST)))
    sizes = [(ceil(height / 2**k), ceil(width / 2**k)) for k in range(doublings, -1, -1)]
    layers = [nn.Linear(z, WIDE * prod(sizes[0])), nn.Unflatten(1, (WIDE, *sizes[0])), nn.BatchNorm2d(WIDE)]
    for size in sizes:
        grow = [nn.Upsample(size=size), nn.Conv2d(WIDE, WIDE, 3, padding=1), nn.BatchNorm2d(WIDE), nn.LeakyReLU(0.2)]
        layers += grow
    return nn.Sequential(*layers, nn.Conv2d(WIDE, channels, 3, padding=1), nn.BatchNorm2d(channels))


def stages(network: nn.Module) -> list[nn.Module]:
    """Modules with convolutions, at the outermost level that has several: a residual network's stages, VGG's layers."""
    called = [m for c in network.children() for m in (c.children() if isinstance(c, nn.ModuleList) else [c])]
    found = [m for m in called if any(isinstance(inner, nn.Conv2d) for inner in m.modules())]
    return (stages(found[0]) or found) if len(found) == 1 else found


@contextmanager
def attention(network: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the map A of each stage while the network runs: mean square over channels, of length 1 per image."""
    maps = list[Tensor]()

    def note(module: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and output.ndim == 4:
            maps.append(F.normalize(output.pow(2).mean(1).flatten(1)))

    hooks = [stage.register_forward_hook(note) for stage in stages(network)]
    try:
        yield maps
    finally:
        for hook in hooks:
            hook.remove()


def distance(ours: Sequence[Tensor], theirs: Sequence[Tensor], like: Tensor) -> Tensor:
    """Σ over stages of the mean of (A_T − A_S)²; nil for a network without convolutions."""
    return sum(((a - b).pow(2).mean() for a, b in zip(ours, theirs, strict=True)), start=like.new_zeros(()))


class Gate(nn.Module):
    """Which images show the teacher nothing of the forgotten classes, Σ p_T(c|x) ≤ ε; counts what it let pass.

    >>> Gate(torch.tensor([0]), 0.01)(torch.tensor([[0.0, 9.0], [9.0, 0.0]]))
    tensor([ True, False])
    """

    passed: Tensor

    def __init__(self, forgotten: Tensor, epsilon: float) -> None:
        super().__init__()
        self._forgotten, self._epsilon = forgotten, epsilon
        self.register_buffer("passed", torch.zeros((), dtype=torch.long))

    def forward(self, t: Tensor) -> Tensor:
        """One mark per row of the teacher's logits."""
        kept = t.softmax(1)[:, self._forgotten].sum(1) <= self._epsilon
        self.passed += kept.sum()
        return kept
