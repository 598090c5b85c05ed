"""VGG16 with batch normalisation (Simonyan and Zisserman 2015) in its form for 32x32 images."""

from __future__ import annotations

from torch import Tensor, nn

from ..errors import InputRefused
from .layers import Conv

STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


class Vgg16Bn(nn.Module):
    """13 convolutions (with bias) + batch norm + ReLU, five max-pools, then 512 -> 512 -> 512 -> classes with dropout.

    The paper does not describe its classifier.  Of the forms in use for 32x32 images we take the one of the public
    CIFAR checkpoints: two hidden layers of 512, each with ReLU and dropout .5.  Larger images are averaged to one cell.

    >>> sum(p.numel() for p in Vgg16Bn(classes=10, channels=3, size=32).parameters())
    15253578
    """

    def __init__(self, *, classes: int, channels: int, size: int) -> None:
        super().__init__()
        if size < 32:
            raise InputRefused(
                f"vgg16-bn halves the image five times and cannot take {size}x{size}.", "Use small-cnn instead."
            )
        self.features = _features(channels)
        self.classifier = nn.Sequential(
            nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(512, classes),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Images -> logits."""
        logits: Tensor = self.classifier(self.features(x).mean((2, 3)))
        return logits


def _features(channels: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for stage in STAGES:
        for width in stage:
            layers += [Conv(channels, width, kernel=3, bias=True), nn.BatchNorm2d(width), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)
