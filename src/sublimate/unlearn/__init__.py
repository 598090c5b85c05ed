"""HOW: the methods.  A new one is one file and one line here."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..errors import InputRefused, UsageError, unknown
from .base import Unlearner
from .siamese import Siamese

METHODS: dict[str, type[Unlearner]] = {"siamese": Siamese}


def methods() -> tuple[str, ...]:
    """The names of all methods.

    >>> "siamese" in methods()
    True
    """
    return tuple(METHODS)


def method(name: str, **options: Any) -> Unlearner:
    """A method by its name, with options that differ from its defaults.

    >>> method("siamese", lr=1e-3).lr
    0.001
    """
    if name not in METHODS:
        raise unknown(UsageError, "method", [name], METHODS)
    known = {f.name for f in fields(METHODS[name])}
    if wrong := [option for option in options if option not in known]:
        raise unknown(UsageError, f"option of {name}", wrong, sorted(known))
    try:
        return METHODS[name](**options)
    except (TypeError, ValueError) as error:
        raise InputRefused(f"The options of {name} do not fit: {error}", "See `sublimate erase --help`.") from None
