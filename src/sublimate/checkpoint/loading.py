"""Read a checkpoint: the content decides what it is, not the name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch import Tensor

from ..errors import InputRefused, IntegrityError
from ..files import AnyPath, read_bytes, sha256
from .checks import check_tensors
from .core import Checkpoint, Layout, Meta
from .layouts import common_prefix, unpack
from .pickles import is_torch, unpickle
from .sealed import is_safetensors, parse

_SHORTEST = 10  # a safetensors file without tensors


def load_checkpoint(path: AnyPath) -> Checkpoint:
    """Read and verify a file of ours, or a foreign state dict (`torch.save`, safetensors); no code of it is run."""
    data, name = read_bytes(path), Path(path).name
    tensors, layout, meta = _content(name, data)
    if not tensors:
        raise InputRefused(f"{name} holds no tensors.", "Give a file with the weights of a network.")
    check_tensors(name, tensors, len(data))
    prefix = common_prefix(tensors)
    state = {key.removeprefix(prefix): tensor.detach() for key, tensor in tensors.items()}
    layout = replace(layout, prefix=prefix, dtypes={key: tensor.dtype for key, tensor in state.items()})
    return Checkpoint(state=state, meta=meta, layout=layout, digest=sha256(data))


def _content(name: str, data: bytes) -> tuple[dict[str, Tensor], Layout, Meta | None]:
    if len(data) < _SHORTEST:
        raise IntegrityError(f"{name} has only {len(data)} bytes.", "Restore it from a good copy.")
    if is_safetensors(data):
        tensors, metadata, meta = parse(name, data)
        return tensors, Layout(kind="safetensors", metadata=metadata), meta
    if is_torch(data):
        return *unpack(name, unpickle(name, data)), None
    raise InputRefused(f"{name} is no checkpoint.", "Give a safetensors file or a state dict of torch.save.")
