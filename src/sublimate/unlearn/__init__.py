"""HOW: the methods.  A new one is one file and one line here."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError, unknown
from .base import Unlearner
from .options import check_names
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
    check_names(METHODS[name], options)
    return METHODS[name](**options)
