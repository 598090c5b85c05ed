"""Networks by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from ..errors import InputRefused, UsageError, unknown
from .cifar_resnet import CifarResNet
from .resnet import BasicBlock, Bottleneck, ResNet
from .small_cnn import SmallCnn
from .vgg import Vgg16Bn


def _resnet18(*, classes: int, channels: int, size: int) -> nn.Module:
    return ResNet(BasicBlock, (2, 2, 2, 2), classes=classes, channels=channels)


def _resnet50(*, classes: int, channels: int, size: int) -> nn.Module:
    return ResNet(Bottleneck, (3, 4, 6, 3), classes=classes, channels=channels)


MODELS: dict[str, Callable[..., nn.Module]] = {
    "vgg16-bn": Vgg16Bn,
    "resnet18": _resnet18,
    "resnet50": _resnet50,
    **{f"he-resnet{6 * n + 2}": partial(CifarResNet, "he", n) for n in (1, 3, 5, 7, 9)},
    **{f"stem64-resnet{6 * n + 2}": partial(CifarResNet, "stem64", n) for n in (1, 3, 5)},
    "small-cnn": SmallCnn,
}
"""Every architecture; each takes classes, channels and size by keyword."""


def build(name: str, classes: int, *, channels: int = 3, size: int = 32) -> nn.Module:
    """A fresh network for images of channels x size x size; its weights come from torch's global random state.

    >>> build("small-cnn", 10, channels=1, size=8).linear
    Linear(in_features=64, out_features=10, bias=True)
    """
    if name not in MODELS:
        raise unknown(UsageError, "model", [name], MODELS)
    if classes < 2 or channels < 1:
        raise InputRefused(
            f"{name} was asked for {classes} classes and {channels} channels.",
            "A classifier needs at least two classes and one channel.",
        )
    return MODELS[name](classes=classes, channels=channels, size=size)
