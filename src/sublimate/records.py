"""What training keeps for a method that needs it: tensors and values in one sealed file; loading runs no code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn

from .checkpoint import digest_of
from .checkpoint.sealed import dump, is_safetensors, parse
from .data.core import Data
from .errors import InputRefused, IntegrityError
from .files import AnyPath, read_bytes, sha256, write_whole

_HEADER, _SEAL = "records", "digest"


@dataclass(frozen=True, kw_only=True)
class Header:
    """What the records are for, the network they belong to, and the data it was trained on."""

    method: str
    network: str  # `digest_of` its state
    data: str  # `digest_of_data`
    values: dict[str, Any] = field(default_factory=dict)  # of the method, fit for JSON


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingRecords:
    """What one training kept.  They hold traces of the data: after a request the old ones must go, as the old network.

    >>> from tempfile import TemporaryDirectory
    >>> header = Header(method="sisa", network="…", data="…", values={"shards": 5})
    >>> records = TrainingRecords(header=header, tensors={"cells": torch.arange(3)})
    >>> with TemporaryDirectory() as folder:
    ...     _ = records.save(Path(folder, "kept.safetensors"))
    ...     TrainingRecords.load(Path(folder, "kept.safetensors")).tensor("cells")
    tensor([0, 1, 2])
    """

    header: Header
    tensors: Mapping[str, Tensor]

    def save(self, path: AnyPath) -> str:
        """Write the file whole and give its SHA-256; equal records make equal bytes."""
        text = json.dumps(self.header.__dict__, sort_keys=True, separators=(",", ":"), allow_nan=False)
        tensors = {name: self.tensors[name] for name in sorted(self.tensors)}
        data = dump(tensors, {_HEADER: text, _SEAL: _seal(tensors, text)}, None)
        write_whole(path, data)
        return sha256(data)

    @classmethod
    def load(cls, path: AnyPath) -> TrainingRecords:
        """Read and verify a file."""
        data, name = read_bytes(path), Path(path).name
        other = InputRefused(f"{name} holds no records of training.", "Give what train wrote as --records.")
        if not is_safetensors(data):
            raise other
        tensors, metadata, _ = parse(name, data)
        if _HEADER not in metadata:
            raise other
        if metadata.get(_SEAL) != _seal(tensors, metadata[_HEADER]):
            raise IntegrityError(f"The content of {name} differs from its digest.", "Restore it from a good copy.")
        try:
            return cls(header=TypeAdapter(Header).validate_json(metadata[_HEADER]), tensors=tensors)
        except ValidationError:
            raise other from None

    def tensor(self, name: str) -> Tensor:
        """One tensor; refused when the file lacks it."""
        if name not in self.tensors:
            raise InputRefused(f"The records lack {name!r}.", "Train again with records.")
        return self.tensors[name]

    def after(self, model: nn.Module, tensors: Mapping[str, Tensor]) -> TrainingRecords:
        """The records of the network that a request left."""
        return replace(self, header=replace(self.header, network=digest_of(model.state_dict())), tensors=tensors)


class Kept(nn.Module):
    """Tensors by name, gathered during a run and saved with its state."""

    def __init__(self, tensors: Mapping[str, Tensor] | None = None) -> None:
        super().__init__()
        self.tensors = dict(tensors or {})

    def keep(self, prefix: str, tensors: Mapping[str, Tensor]) -> None:
        """Copies of these, under a common prefix."""
        for name, tensor in tensors.items():
            self.tensors[f"{prefix}.{name}"] = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)

    def get_extra_state(self) -> dict[str, Tensor]:
        """What an unfinished run saves."""
        return dict(self.tensors)

    def set_extra_state(self, state: dict[str, Tensor]) -> None:
        """What a continued run finds."""
        self.tensors = dict(state)


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Those that were kept under a prefix.

    >>> list(under({"0.1.weight": torch.ones(1), "0.10.weight": torch.ones(1)}, "0.1"))
    ['weight']
    """
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}


def digest_of_data(data: Data) -> str:
    """Of the rows and of how they are normalised: what must be the same to repeat a training."""
    normalisation = [list(map(float, values)) for values in (data.mean or (), data.std or ())]
    return sha256(repr((data.fingerprint, normalisation, data.flip)).encode())


def check_records(records: object, method: str, network: nn.Module, *parts: Data) -> TrainingRecords:
    """Refuse records of another method, another network or other data."""
    if not isinstance(records, TrainingRecords):
        raise InputRefused(f"A {type(records).__name__} is no records of training.", "Load them: TrainingRecords.load.")
    header = records.header
    if header.method != method:
        raise InputRefused(f"The records were kept for {header.method}, not for {method}.", f"Use {header.method}.")
    if header.network != digest_of(network.state_dict()):
        raise InputRefused("The records belong to another network.", "Give those that were written with this one.")
    if any(header.data != digest_of_data(data) for data in parts):
        raise InputRefused(
            "The records belong to other data than these.",
            "Give parts of the data the network was trained on, normalised as then.",
        )
    return records


def _seal(tensors: Mapping[str, Tensor], text: str) -> str:
    return sha256(f"{digest_of(tensors)}\n{text}".encode())
