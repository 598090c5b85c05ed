"""Data by its name: a known set, an image folder, an `.npz` file, or a function of the user's."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..errors import InputRefused, SublimateError, UsageError, check_is, unknown
from ..importing import here_importable, imported, told
from .cifar import cifar
from .cifar_sets import CIFAR10, CIFAR100
from .core import Data
from .embedded import digits, fashion_mini
from .folder import image_folder
from .npz import npz

SOURCES: dict[str, Callable[[Path | None], Data]] = {
    "digits": lambda _: digits(),
    "fashion-mini": lambda _: fashion_mini(),
    "cifar10": partial(cifar, CIFAR10),
    "cifar100": partial(cifar, CIFAR100),
}


def load(name: str | Path, *, size: int | None = None, root: Path | None = None) -> Data:
    """Data by a known name, the path of an image folder or `.npz` file, or `module:function` returning `Data`.

    `size` resizes the images of a folder; `root` is where the CIFAR files lie.

    >>> load("digits").sizes
    (1437, 360, 0)
    """
    check_is("The name of data", name, str | Path, "Give a known name, a path, or module:function.")
    path, name = Path(name), str(name)
    if name not in SOURCES and os.path.isdir(name):  # which takes any text, however long
        return image_folder(path, size)
    if size is not None:
        raise UsageError(f"{name} is no image folder, so its images cannot be resized.", "Leave out size (--size).")
    if name in SOURCES:
        return SOURCES[name](root)
    if os.path.isfile(name):
        return npz(path)
    if ":" in name:
        return _from_function(name)
    raise _nothing(name)


def _nothing(name: str) -> SublimateError:
    if os.sep in name or name.endswith(".npz"):
        return InputRefused(f"There is no folder or file {name}.", "Check the path.")
    error = unknown(UsageError, "data set", [name], SOURCES)
    others = "the path of an image folder or .npz file, or module:function, works too."
    return UsageError(error.cause, f"{error.remedy.removesuffix('.')}; {others}")


def _from_function(name: str) -> Data:
    try:
        with here_importable():
            data = imported(name)()
    except SublimateError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's own code raises
        raise InputRefused(f"{name} failed: {told(error)}.", "Make it run without arguments.") from error
    if not isinstance(data, Data):
        raise InputRefused(f"{name} returned {type(data).__name__}, not Data.", "Let it return Data.from_dataset(…).")
    return data
