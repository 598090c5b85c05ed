"""Safetensors as bytes: the same content gives the same bytes, and with a `Meta` a seal over all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import safetensors.torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from torch import Tensor

from ..errors import InputRefused, IntegrityError
from ..files import sha256
from .core import Meta, digest_of

_META, _SEAL = "sublimate", "digest"
_LARGEST_HEADER = 100_000_000  # the format's own limit


def is_safetensors(data: bytes) -> bool:
    """Whether the bytes begin like a safetensors file."""
    return data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= _LARGEST_HEADER


def dump(tensors: Mapping[str, Tensor], metadata: Mapping[str, str], meta: Meta | None) -> bytes:
    """Write contiguous tensors that share no memory."""
    everything = dict(metadata)
    if meta is not None:
        facts = {key: value for key, value in asdict(meta).items() if value or key != "forgotten"}
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
        everything |= {_META: text, _SEAL: _seal(tensors, text)}
    plain = safetensors.torch.save(dict(tensors))
    return _with_metadata(plain, dict(sorted(everything.items())))


def parse(name: str, data: bytes) -> tuple[dict[str, Tensor], dict[str, str], Meta | None]:
    """Tensors, foreign metadata and, behind an unbroken seal, ours."""
    try:
        tensors = safetensors.torch.load(data)
    except SafetensorError as error:
        raise IntegrityError(f"{name} is truncated or damaged ({error}).", "Restore it from a good copy.") from error
    except KeyError as error:
        raise InputRefused(
            f"{name} has tensors of type {error.args[0]}.", "Save the network with dense float weights."
        ) from error
    metadata = dict(_header(data)[0].get("__metadata__", {}))
    if _META not in metadata:
        return tensors, metadata, None
    text, seal = metadata.pop(_META), metadata.pop(_SEAL, "")
    if _seal(tensors, text) != seal:
        raise IntegrityError(f"The content of {name} differs from its digest.", "Restore it from a good copy.")
    return tensors, metadata, _meta(name, text)


def _meta(name: str, text: str) -> Meta:
    try:
        return TypeAdapter(Meta).validate_json(text)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputRefused(f"{name} describes its network wrongly at {where!r}.", "Write it anew.") from error


def _seal(tensors: Mapping[str, Tensor], text: str) -> str:
    return sha256(f"{digest_of(tensors)}\n{text}".encode())


def _with_metadata(data: bytes, metadata: dict[str, str]) -> bytes:
    # The library writes metadata in the order of a hash map, another one in every process.
    header, end = _header(data)
    text = json.dumps({"__metadata__": metadata} | header if metadata else header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # keeps the tensors aligned
    return len(text).to_bytes(8, "little") + text + data[end:]


def _header(data: bytes) -> tuple[dict[str, dict[str, str]], int]:
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), end
