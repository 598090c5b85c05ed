"""The small residual networks for 32x32 images in two families: `he` (He et al. 2016) and `stem64`.

Both have a 3x3 stem, three stages of 16, 32 and 64 channels with n blocks each (depth 6n + 2), and one linear layer.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from .layers import Conv

Family = Literal["he", "stem64"]


class ZeroPadShortcut(nn.Module):
    """Every second row and column; new channels are zeros, half before and half after: no parameters."""

    def __init__(self, new_channels: int) -> None:
        super().__init__()
        self.before = new_channels // 2
        self.after = new_channels - self.before

    def forward(self, x: Tensor) -> Tensor:
        """Halve the image, widen the channels."""
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.before, self.after))


class Block(nn.Module):
    """bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x), then ReLU where `relu` says so."""

    def __init__(self, inputs: int, outputs: int, *, stride: int, family: Family, relu: bool) -> None:
        super().__init__()
        self.conv1 = Conv(inputs, outputs, kernel=3, stride=stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = Conv(outputs, outputs, kernel=3)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = _shortcut(inputs, outputs, stride, family)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        """Add what two convolutions found to what came in."""
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out)) + self.shortcut(x)
        return F.relu(out) if self.relu else out


def _shortcut(inputs: int, outputs: int, stride: int, family: Family) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    if family == "he":
        return ZeroPadShortcut(outputs - inputs)
    return nn.Sequential(Conv(inputs, outputs, kernel=1, stride=stride), nn.BatchNorm2d(outputs))


class CifarResNet(nn.Module):
    """A network of either family; `he` takes any image size, `stem64` the size it was built for.

    >>> sum(p.numel() for p in CifarResNet("he", 3, classes=10, channels=3, size=32).parameters())
    269722
    """

    def __init__(self, family: Family, blocks: int, *, classes: int, channels: int, size: int) -> None:
        super().__init__()
        stem = 16 if family == "he" else 64
        self.family = family
        self.conv1 = Conv(channels, stem, kernel=3)
        self.bn1 = nn.BatchNorm2d(stem)
        self.layer1 = _stage(stem, 16, blocks, stride=1, family=family)
        self.layer2 = _stage(16, 32, blocks, stride=2, family=family)
        self.layer3 = _stage(32, 64, blocks, stride=2, family=family)
        self.linear = nn.Linear(64 * (1 if family == "he" else _stem64_cells(size)), classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images -> logits."""
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        # A map smaller than the 4x4 window is pooled whole, so that 8x8 digits work too.
        x = x.mean((2, 3)) if self.family == "he" else F.avg_pool2d(x, min(4, *x.shape[2:])).flatten(1)
        logits: Tensor = self.linear(x)
        return logits


def _stage(inputs: int, outputs: int, blocks: int, *, stride: int, family: Family) -> nn.Sequential:
    last = blocks - 1
    return nn.Sequential(
        *(
            Block(
                inputs if i == 0 else outputs,
                outputs,
                stride=stride if i == 0 else 1,
                family=family,
                relu=family == "he" or i == last,
            )
            for i in range(blocks)
        )
    )


def _stem64_cells(size: int) -> int:
    side = (size + 3) // 4  # after two strides of two
    return (side // min(4, side)) ** 2
