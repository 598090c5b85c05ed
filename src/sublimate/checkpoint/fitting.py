"""Put the weights of a checkpoint into a network, or say which of them do not fit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeVar

from torch import Tensor, nn

from ..errors import InputRefused
from .core import Checkpoint, Layout
from .layouts import note_versions

M_ = TypeVar("M_", bound=nn.Module)


def fit(module: M_, checkpoint: Checkpoint) -> M_:
    """Load the weights into this module, all of them or none; returns the module."""
    wanted: dict[str, Any] = module.state_dict()
    found: OrderedDict[str, Any] = OrderedDict(checkpoint.state)
    # Files before torch 0.4.1 lack these counters; the layout has their absence, so that the output lacks them as well.
    found.update({key: value for key, value in wanted.items() if is_counter(key) and key not in found})
    if differences := _differences(wanted, found):
        raise InputRefused(
            f"The checkpoint does not fit the network: {'; '.join(differences)}.",
            "Name the network it was made for with --arch, or the data it was trained on.",
        )
    note_versions(found, _clean_versions(checkpoint.layout))
    try:
        module.load_state_dict(found)
    except Exception as error:  # a module may load in its own way, and fail in its own way
        raise InputRefused(f"The network refused the checkpoint: {error}.", "Name its network with --arch.") from error
    return module


def is_counter(key: str) -> bool:
    """Whether the key is a batch norm's count of batches, which no prediction depends on."""
    return key.rpartition(".")[2] == "num_batches_tracked"


def _differences(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    shapes = [
        f"{key!r} {_shape(found[key])} against {_shape(wanted[key])}"
        for key in wanted
        if key in found and _shape(found[key]) != _shape(wanted[key])
    ]
    return [
        *_first("missing", [repr(key) for key in wanted if key not in found]),
        *_first("unexpected", [repr(key) for key in found if key not in wanted]),
        *_first("shapes of the file against the network's", shapes),
    ]


def _first(what: str, items: Sequence[str], most: int = 5) -> list[str]:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return [f"{what}: {', '.join(items[:most])}{more}"] if items else []


def _shape(value: object) -> str:
    return "x".join(map(str, value.shape)) or "scalar" if isinstance(value, Tensor) else type(value).__name__


def _clean_versions(layout: Layout) -> dict[str, Any] | None:
    if layout.versions is None:
        return None
    wrapper = layout.prefix.removesuffix(".")
    return {
        "" if key == wrapper else key.removeprefix(layout.prefix): value
        for key, value in layout.versions.items()
        if key == wrapper or key.startswith(layout.prefix)
    }
