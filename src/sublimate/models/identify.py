"""Which of our architectures a state dict belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import torch

from ..checkpoint.fitting import is_counter
from ..errors import InputRefused
from .registry import MODELS, build

Shapes = Mapping[str, tuple[int, ...]]

SIZES = (32, 28, 8, 64)  # where the head depends on the image size, the first of these that fits


class Identity(NamedTuple):
    """What `build` needs to make the network a state dict belongs to."""

    architecture: str
    classes: int
    channels: int
    size: int


def identify(shapes: Shapes) -> Identity | None:
    """The architecture whose names and shapes are exactly these; None for a foreign state dict.

    Counters of batches need not be there: old files lack them.  The size is 32 where the shapes do not depend on it.

    >>> network = build("small-cnn", 7, channels=1, size=8)
    >>> identify({name: tuple(tensor.shape) for name, tensor in network.state_dict().items()})
    Identity(architecture='small-cnn', classes=7, channels=1, size=32)
    """
    shapes = _uncounted(shapes)
    for name in MODELS:
        example = _shapes(Identity(name, 2, 3, 32))
        if example.keys() != shapes.keys():
            continue
        first, *_, head_bias = example
        if len(shapes[first]) != 4 or len(shapes[head_bias]) != 1:
            continue
        for size in SIZES:
            candidate = Identity(name, shapes[head_bias][0], shapes[first][1], size)
            if _fits(candidate, shapes):
                return candidate
    return None


def _fits(candidate: Identity, shapes: Shapes) -> bool:
    try:
        return _shapes(candidate) == dict(shapes)
    except InputRefused:  # one class, or an image too small
        return False


@lru_cache(maxsize=64)
def _shapes(identity: Identity) -> dict[str, tuple[int, ...]]:
    name, classes, channels, size = identity
    with torch.device("meta"):
        network = build(name, classes, channels=channels, size=size)
    return _uncounted({key: tuple(tensor.shape) for key, tensor in network.state_dict().items()})


def _uncounted(shapes: Shapes) -> dict[str, tuple[int, ...]]:
    return {key: shape for key, shape in shapes.items() if not is_counter(key)}
