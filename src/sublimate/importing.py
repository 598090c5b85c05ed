"""A user's own functions and classes, by `module:name`; modules in the current folder are found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .errors import InputRefused


@contextmanager
def here_importable() -> Iterator[None]:
    """A console script does not look into the current folder by itself."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


def imported(name: str) -> Any:
    """The object that `module:name` names; whatever its import raises becomes a refusal.

    >>> imported("math:pi")
    3.141592653589793
    """
    module, _, attribute = name.partition(":")
    try:
        with here_importable():
            return getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise InputRefused(
            f"{name} cannot be imported: {told(error)}.", "Give module:name as Python sees it."
        ) from error


def told(error: BaseException) -> str:
    """What an error of the user's own code says, in one line.

    >>> told(KeyError("x")), told(ImportError("no module")), told(ValueError())
    ("KeyError: 'x'", 'no module', 'ValueError')
    """
    first = next(iter(str(error).splitlines()), "").rstrip(".")
    kind = type(error).__name__
    return first if first and isinstance(error, ImportError | AttributeError) else f"{kind}: {first}" if first else kind
