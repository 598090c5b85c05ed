"""What steps hand to each other: networks as bytes, and the splits that a request stands for."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar, cast

import torch
from torch import nn

from ..checkpoint import save_checkpoint
from ..data.core import Data
from ..data.sources import load
from ..files import read_bytes
from ..networks import Network, describe, open_network
from ..plan import Context
from ..splits import Split, split

Request = dict[str, Any]  # data, request, seed: all that a split follows from
Few = int | Literal["all"]


DEVICE: ContextVar[str | None] = ContextVar("device", default=None)
"""Where the steps of this process run, if somebody chose."""
_PLACE: ContextVar[str | None] = ContextVar("place", default=None)  # of the data of the step that is running
F_ = TypeVar("F_", bound=Callable[..., Any])


def table(name: str) -> Data:
    """The data of this name; where a step says where they lie, from there."""
    return loaded(_PLACE.get() or name)


@lru_cache(maxsize=2)
def loaded(name: str) -> Data:
    """The data of a name or path, kept for the next step."""
    return load(name)


def placed(function: F_) -> F_:
    """A step's function that runs on the device of its step, and may be told where its data lie."""

    @wraps(function)
    def called(context: Context, *, data_at: str | None = None, **given: Any) -> Any:
        device, place = DEVICE.set(context.device or DEVICE.get()), _PLACE.set(data_at)
        try:
            return function(context, **given)
        finally:
            _PLACE.reset(place)
            DEVICE.reset(device)

    return cast("F_", called)


def asked_of(on: Request, data: Data, few: Few = "all") -> Split:
    """The split of a request; `few` is the retain budget."""
    return split(data, on["request"], few=few, seed=on["seed"])


def device() -> str:
    """Where steps run: where somebody chose, else on a GPU where there is one."""
    return DEVICE.get() or ("cuda" if torch.cuda.is_available() else "cpu")


def packed(network: nn.Module, architecture: str, data: Data, **facts: Any) -> bytes:
    """A network as bytes, with what is known about it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "network.safetensors")
        save_checkpoint(path, network.cpu().state_dict(), meta=describe(architecture, data, **facts))
        return read_bytes(path)


def opened(packed: bytes, data: Data) -> Network:
    """The network again, ready to run."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "network.safetensors")
        path.write_bytes(packed)
        return open_network(path, data, device=device())


def needed(context: Context, name: str | None = None) -> bytes:
    """What the step of this name gave; without a name, the only one that is needed."""
    if name is not None:
        return context.inputs[name]
    (only,) = context.inputs.values()
    return only
