"""Memory layout of a network's weights."""

from __future__ import annotations

import torch
from torch import nn


def channels_last(model: nn.Module) -> nn.Module:
    """Lay the weights out as convolutions on a CPU and on tensor cores like them best; in place."""
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.ndim == 4:  # torch's own way refuses networks that have volumes
            tensor.data = tensor.data.to(memory_format=torch.channels_last)
    return model


def contiguous(model: nn.Module) -> nn.Module:
    """Lay the weights out as they are saved; in place."""
    return model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload, no-any-return]
