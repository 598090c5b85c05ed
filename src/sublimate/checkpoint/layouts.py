"""Where the state dict is inside a pickled object, and how to put another one in its place."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from ..errors import InputRefused
from .core import Layout

_NESTS = ("state_dict", "model", "net", "model_state_dict", "weights")
_WRAPPERS = ("module.", "_orig_mod.")  # DataParallel, torch.compile
_REMEDY = "Save `model.state_dict()` with torch.save, or use safetensors."


def unpack(name: str, loaded: object) -> tuple[dict[str, Tensor], Layout]:
    """Find the state dict; plain values beside it are kept, all else is only named."""
    if not isinstance(loaded, dict):
        raise InputRefused(f"{name} holds a {type(loaded).__name__}, not a state dict.", _REMEDY)
    top = _items(loaded)
    nest = next((key for key in _NESTS if isinstance(top.get(key), dict) and _has_tensors(top[key])), None)
    holder = loaded if nest is None else top[nest]
    inside = _items(holder)
    state = {key: value for key, value in inside.items() if isinstance(value, Tensor)}
    if not state or not all(isinstance(key, str) for key in top.keys() | inside.keys()):
        raise InputRefused(f"{name} holds no state dict, only {_names(top)}.", _REMEDY)
    if nest is not None and len(state) < len(inside):
        raise InputRefused(f"Not all of {nest!r} in {name} are tensors: {_names(inside.keys() - state)}.", _REMEDY)
    others = {key: value for key, value in top.items() if key != nest and not (nest is None and key in state)}
    entries = {key: value for key, value in others.items() if _plain(value)}
    dropped = tuple(key for key in others if key not in entries)
    return state, Layout(kind="torch", nest=nest, entries=entries, dropped=dropped, versions=_versions(holder))


def pack(state: dict[str, Tensor], layout: Layout) -> dict[str, Any]:
    """The inverse: the object to pickle."""
    ordered: OrderedDict[str, Any] = OrderedDict(state)
    if layout.nest is None:
        ordered.update(layout.entries)
    note_versions(ordered, layout.versions)
    return ordered if layout.nest is None else {layout.nest: ordered, **layout.entries}


def common_prefix(names: Iterable[str]) -> str:
    """What wrappers have put before every name.

    >>> common_prefix(["module._orig_mod.fc.weight", "module._orig_mod.fc.bias"]), common_prefix(["module.a", "b"])
    ('module._orig_mod.', '')
    """
    known, prefix = list(names), ""
    while known and (found := [w for w in _WRAPPERS if all(name.startswith(prefix + w) for name in known)]):
        prefix += found[0]
    return prefix


def note_versions(state: OrderedDict[str, Any], versions: Mapping[str, Any] | None) -> None:
    """Give a state dict torch's note of module versions, by which modules know how old it is."""
    if versions is not None:
        vars(state)["_metadata"] = OrderedDict(versions)


def _items(holder: dict[Any, Any]) -> dict[Any, Any]:
    # A crafted OrderedDict may carry attributes that hide its own methods; dict's are out of reach.
    return dict(iter(dict.items(holder)))


def _has_tensors(holder: dict[Any, Any]) -> bool:
    return any(isinstance(value, Tensor) for value in dict.values(holder))


def _plain(value: object) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(v, bool | int | float | str | None) for v in values)


def _versions(holder: object) -> dict[str, Any] | None:
    versions = getattr(holder, "__dict__", {}).get("_metadata")
    if not isinstance(versions, dict):
        return None
    try:  # only what JSON can hold is plain; tensors could hide here as well
        plain: dict[str, Any] = json.loads(json.dumps(_items(versions)))
    except (TypeError, ValueError, RecursionError):
        return None
    return plain


def _names(keys: Iterable[object], most: int = 5) -> str:
    shown = sorted(map(repr, keys))
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "") or "nothing"
