"""Write a checkpoint in our format, or so that the code which loads the foreign one loads this one too."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import InputRefused
from ..files import AnyPath, sha256, write_whole
from .checks import check_finite
from .core import Kind, Layout, Meta
from .fitting import is_counter
from .layouts import pack
from .sealed import dump

_KINDS: dict[str, Kind] = dict.fromkeys((".pt", ".pth", ".th", ".tar", ".bin"), "torch")
_KINDS[".safetensors"] = "safetensors"


def save_checkpoint(
    path: AnyPath, state: Mapping[str, Tensor], *, meta: Meta | None, layout: Layout | None = None
) -> str:
    """Write the file whole and give its SHA-256; equal tensors and meta make equal bytes.

    With a layout it has the keys, dtypes and nesting of the file the layout came from.  It is a torch or a safetensors
    file by its suffix; of these only safetensors can carry `meta`.

    >>> from tempfile import TemporaryDirectory
    >>> meta = Meta(architecture="small-cnn", classes=("cat", "dog"), channels=3, size=(32, 32))
    >>> with TemporaryDirectory() as folder:
    ...     len(save_checkpoint(Path(folder, "net.safetensors"), {"w": torch.ones(2)}, meta=meta))
    64
    """
    kind = kind_of(path, layout)
    if layout is None:
        layout = Layout(kind=kind, dtypes={key: tensor.dtype for key, tensor in state.items()})
    tensors = _laid_out(state, layout)
    check_finite(Path(path).name, tensors)
    data = dump(tensors, layout.metadata, meta) if kind == "safetensors" else _torch_bytes(tensors, layout)
    write_whole(path, data)
    return sha256(data)


def kind_of(path: AnyPath, layout: Layout | None = None) -> Kind:
    """What is written to a path: by its suffix, else as the layout has it, else safetensors.

    >>> kind_of("net.pt"), kind_of("net.bak")
    ('torch', 'safetensors')
    """
    return _KINDS.get(Path(path).suffix.lower(), layout.kind if layout else "safetensors")


def round_as(model: nn.Module, layout: Layout) -> bool:
    """Give the weights the precision they will have in a file of this layout; whether that changed any."""
    changed = False
    for key, tensor in model.state_dict().items():
        rounded = tensor.to(layout.dtypes.get(key, tensor.dtype)).to(tensor.dtype)
        if not torch.equal(rounded, tensor):
            tensor.copy_(rounded)
            changed = True
    return changed


def _laid_out(state: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
    missing = layout.dtypes.keys() - state.keys()
    surplus = {key for key in state.keys() - layout.dtypes.keys() if not is_counter(key)}
    if missing or surplus:
        raise InputRefused(
            f"The weights do not fit the layout: {sorted(missing | surplus)[0]!r} is in one of them only.",
            "Write them with the layout of the file they came from.",
        )
    return {layout.prefix + key: _own(state[key], dtype) for key, dtype in layout.dtypes.items()}


def _own(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    # A copy: neither the rest of a larger memory block nor an alias of another tensor gets into the file.
    return tensor.detach().to("cpu", dtype).clone(memory_format=torch.contiguous_format)


def _torch_bytes(tensors: dict[str, Tensor], layout: Layout) -> bytes:
    buffer = io.BytesIO()  # torch.save writes the name of a named file into it
    torch.save(pack(tensors, layout), buffer)
    return buffer.getvalue()
