"""A small network with batch normalisation for small images: seconds to train on two cores."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputRefused
from .layers import Conv


class SmallCnn(nn.Module):
    """Three blocks (convolution, batch norm, ReLU, max-pool) of 32, 64 and 64 channels, global average, linear layer.

    >>> sum(p.numel() for p in SmallCnn(classes=10, channels=1, size=8).parameters())
    56554
    """

    def __init__(self, *, classes: int, channels: int, size: int) -> None:
        super().__init__()
        if size < 8:
            raise InputRefused(
                f"small-cnn halves the image three times and cannot take {size}x{size}.",
                "Enlarge the images to 8x8 or more.",
            )
        self.conv1, self.bn1 = Conv(channels, 32, kernel=3), nn.BatchNorm2d(32)
        self.conv2, self.bn2 = Conv(32, 64, kernel=3), nn.BatchNorm2d(64)
        self.conv3, self.bn3 = Conv(64, 64, kernel=3), nn.BatchNorm2d(64)
        self.linear = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images -> logits."""
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.max_pool2d(F.relu(self.bn3(self.conv3(x))), 2)
        logits: Tensor = self.linear(x.mean((2, 3)))
        return logits
