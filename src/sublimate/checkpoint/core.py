"""What a checkpoint is: tensors, what we know of the network, and how the file was laid out."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import InputRefused

Kind = Literal["safetensors", "torch"]
Normalisation = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class Meta:
    """What must be known of a network to use it again; travels inside our files."""

    architecture: str
    classes: tuple[str, ...]
    channels: int
    size: tuple[int, int]  # height, width
    mean: tuple[float, ...] | None = None  # None: the network takes model-ready input
    std: tuple[float, ...] | None = None
    flip: bool = True
    recipe: dict[str, Any] = field(default_factory=dict)
    split: str | None = None  # fingerprint of the split it was made on
    parent: str | None = None  # `digest_of` the network it was made from
    method: dict[str, Any] | None = None
    forgotten: dict[str, str] = field(default_factory=dict)  # by which split, and digests of the ids
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a file holds its state dict, so that another can be written that the same code loads."""

    kind: Kind
    dtypes: dict[str, torch.dtype] = field(default_factory=dict)  # of the clean keys, in the order of the file
    nest: str | None = None  # the top-level entry that holds the state dict
    prefix: str = ""  # what wrappers had put before every key
    entries: dict[str, Any] = field(default_factory=dict)  # plain values beside the tensors
    dropped: tuple[str, ...] = ()  # entries not kept: optimizer state and the like may hold traces of erased data
    metadata: dict[str, str] = field(default_factory=dict)  # of a foreign safetensors file
    versions: dict[str, Any] | None = None  # torch's own note of module versions in a state dict


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """One file, read and verified."""

    state: dict[str, Tensor]
    meta: Meta | None
    layout: Layout
    digest: str  # SHA-256 of the file

    @property
    def normalisation(self) -> Normalisation | None:
        """Mean and std the network was trained with, when the file says so."""
        if self.meta is not None:
            return (self.meta.mean, self.meta.std) if self.meta.mean and self.meta.std else None
        texts = self.layout.metadata.get("mean"), self.layout.metadata.get("std")
        if texts[0] is None or texts[1] is None:
            return None
        mean, std = _numbers(texts[0]), _numbers(texts[1])
        if not mean or len(mean) != len(std) or min(std) <= 0:
            raise InputRefused(
                f"The file gives mean {texts[0]!r} and std {texts[1]!r}, which are no normalisation.",
                "Give --mean and --std.",
            )
        return mean, std


def digest_of(state: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes; the order of the keys does not matter.

    >>> digest_of({"a": torch.zeros(2), "b": torch.ones(1)}) == digest_of({"b": torch.ones(1), "a": torch.zeros(2)})
    True
    >>> digest_of({"a": torch.zeros(2)}) == digest_of({"a": torch.zeros(2, 1)})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _numbers(text: str) -> tuple[float, ...]:
    """The numbers of "0.5,0.5", "[0.5, 0.5]" or "(0.5, 0.5)"; none when anything else stands there."""
    try:
        numbers = tuple(float(part) for part in text.strip().strip("[]()").rstrip(", ").split(","))
    except ValueError:
        return ()
    return numbers if all(map(math.isfinite, numbers)) else ()
