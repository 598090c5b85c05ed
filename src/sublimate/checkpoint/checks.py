"""Which tensors we work on: dense, of an ordinary type, finite, and no larger than a file can hold."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..errors import InputRefused

_FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
_WHOLE = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool}


def too_large(declared: int, file_size: int) -> bool:
    """Whether a file claims to unfold into far more than it is: over 1 GiB and over a hundred times its size.

    >>> too_large(2**40, file_size=1000), too_large(2**29, file_size=1000), too_large(2**40, file_size=2**39)
    (True, False, False)
    """
    return declared > max(2**30, 100 * file_size)


def check_tensors(name: str, state: Mapping[str, Tensor], file_size: int) -> None:
    """Refuse sparse, quantised, meta and unfolding tensors, then non-finite ones."""
    for key, tensor in state.items():
        if not _dense(tensor):
            raise InputRefused(
                f"Tensor {key!r} of {name} is {_kind(tensor)}.", "Save the network with dense float weights."
            )
    if too_large(sum(t.numel() * t.element_size() for t in state.values()), file_size):
        raise InputRefused(f"The tensors of {name} unfold far beyond its size.", "Save them with .contiguous().")
    check_finite(name, state)


def check_finite(name: str, state: Mapping[str, Tensor]) -> None:
    """Refuse weights that are not numbers, naming the first such tensor."""
    for key, tensor in state.items():
        if tensor.dtype in _FLOATS and not bool(torch.isfinite(tensor).all()):
            raise InputRefused(
                f"Tensor {key!r} of {name} holds NaN or infinite values.", "Take a checkpoint from before it diverged."
            )


def _dense(tensor: Tensor) -> bool:
    ordinary = type(tensor) in (Tensor, torch.nn.Parameter) and tensor.dtype in _FLOATS | _WHOLE
    strided = tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_neg()
    return ordinary and strided and tensor.device.type == "cpu"


def _kind(tensor: Tensor) -> str:
    if tensor.is_meta:
        return "without values (on the meta device)"
    return "sparse" if tensor.layout != torch.strided else f"of type {str(tensor.dtype).removeprefix('torch.')}"
