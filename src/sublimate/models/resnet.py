"""ResNet18 and ResNet50 (He et al. 2016) for small images: a 3x3 stem with stride 1 and no max-pooling.

Modules have the names of the usual ImageNet form (conv1, bn1, layer1.0.conv1, downsample.0, fc).
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from .layers import Conv


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, *, stride: int) -> None:
        super().__init__()
        self.conv1 = Conv(inputs, width, kernel=3, stride=stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = Conv(width, width, kernel=3)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _downsample(inputs, width * self.expansion, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Add what the convolutions found to what came in."""
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.downsample(x))


class Bottleneck(nn.Module):
    """1x1 down, 3x3 (which carries the stride), 1x1 up, and a shortcut."""

    expansion = 4

    def __init__(self, inputs: int, width: int, *, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = Conv(inputs, width, kernel=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = Conv(width, width, kernel=3, stride=stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = Conv(width, outputs, kernel=1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = _downsample(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Add what the convolutions found to what came in."""
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + self.downsample(x))


def _downsample(inputs: int, outputs: int, stride: int) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(Conv(inputs, outputs, kernel=1, stride=stride), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """Four stages of 64, 128, 256 and 512 channels (times the block's expansion), any image size.

    >>> sum(p.numel() for p in ResNet(BasicBlock, (2, 2, 2, 2), classes=10, channels=3).parameters())
    11173962
    """

    def __init__(
        self, block: type[BasicBlock | Bottleneck], blocks: tuple[int, int, int, int], *, classes: int, channels: int
    ) -> None:
        super().__init__()
        self.conv1 = Conv(channels, 64, kernel=3)
        self.bn1 = nn.BatchNorm2d(64)
        grown = block.expansion
        self.layer1 = _stage(block, 64, 64, blocks[0], stride=1)
        self.layer2 = _stage(block, 64 * grown, 128, blocks[1], stride=2)
        self.layer3 = _stage(block, 128 * grown, 256, blocks[2], stride=2)
        self.layer4 = _stage(block, 256 * grown, 512, blocks[3], stride=2)
        self.fc = nn.Linear(512 * grown, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images -> logits."""
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits: Tensor = self.fc(x.mean((2, 3)))
        return logits


def _stage(block: type[BasicBlock | Bottleneck], inputs: int, width: int, blocks: int, *, stride: int) -> nn.Sequential:
    first = block(inputs, width, stride=stride)
    return nn.Sequential(first, *(block(width * block.expansion, width, stride=1) for _ in range(blocks - 1)))
