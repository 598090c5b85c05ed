"""A user's own functions and classes, by `module:name`; modules in the current folder are found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

CANNOT = (ImportError, AttributeError, ValueError)  # what a wrong name gives


@contextmanager
def here_importable() -> Iterator[None]:
    """A console script does not look into the current folder by itself."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def imported(name: str) -> Any:
    """The object that `module:name` names.

    >>> imported("math:pi")
    3.141592653589793
    """
    module, _, attribute = name.partition(":")
    with here_importable():
        return getattr(import_module(module), attribute)
