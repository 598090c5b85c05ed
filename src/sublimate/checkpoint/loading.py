"""Read a checkpoint: the content decides what it is, not the name."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputRefused, IntegrityError
from ..files import AnyPath, read_bytes, sha256
from .checks import check_tensors
from .core import Checkpoint, Layout
from .layouts import Unpacked, common_prefix, unpack
from .pickles import is_torch, unpickle
from .sealed import is_safetensors, parse

_SHORTEST = 10  # an empty safetensors file


def load_checkpoint(path: AnyPath) -> Checkpoint:
    """Read and verify one file of ours, a foreign state dict of `torch.save`, or foreign safetensors; runs no code."""
    data, name = read_bytes(path), Path(path).name
    if len(data) < _SHORTEST:
        raise IntegrityError(f"{name} has only {len(data)} bytes.", "Restore it from a good copy.")
    if is_safetensors(data):
        tensors, metadata, meta = parse(name, data)
        parts, kind = Unpacked(tensors, None, {}, (), None), "safetensors"
    elif is_torch(data):
        parts, metadata, meta, kind = unpack(name, unpickle(name, data)), {}, None, "torch"
    else:
        raise InputRefused(f"{name} is no checkpoint.", "Give a safetensors file or a state dict of torch.save.")
    if not parts.state:
        raise InputRefused(f"{name} holds no tensors.", "Give a file with the weights of a network.")
    check_tensors(name, parts.state, len(data))
    prefix = common_prefix(parts.state)
    state = {key.removeprefix(prefix): tensor.detach() for key, tensor in parts.state.items()}
    layout = Layout(
        kind=kind,
        dtypes={key: tensor.dtype for key, tensor in state.items()},
        nest=parts.nest,
        prefix=prefix,
        entries=parts.entries,
        dropped=parts.dropped,
        metadata=metadata,
        versions=parts.versions,
    )
    return Checkpoint(state=state, meta=meta, layout=layout, digest=sha256(data))
