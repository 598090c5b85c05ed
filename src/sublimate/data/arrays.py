"""The arrays of an `.npz` file: plain numbers and strings, never pickled objects."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputRefused, IntegrityError, ResourceError

Arrays = dict[str, npt.NDArray[Any]]


def read_arrays(path: Path) -> Arrays:
    """All arrays of the file; what is damaged, foreign or pickled raises a typed error."""
    _check_beginning(path)
    try:
        _check_sums(path)
        with np.load(path, allow_pickle=False) as table:
            arrays = {key: table[key] for key in table}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error) as e:
        raise IntegrityError(f"{path} is truncated or damaged.", "Copy or write it again.") from e
    except (ValueError, RuntimeError) as e:
        raise InputRefused(f"{path} holds more than plain arrays: {e}.", "Write it with numpy.savez.") from e
    except MemoryError as e:
        raise ResourceError(f"{path} does not fit into memory.", "Give an image folder: it is streamed.") from e
    for key, value in arrays.items():
        if not isinstance(value, np.ndarray):
            raise InputRefused(f"{path} holds {key!r}, which is no array.", "Write it with numpy.savez.")
    return arrays


def _check_beginning(path: Path) -> None:
    """Only what begins like a zip archive can be a damaged `.npz`; any other file is simply none."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as e:
        raise ResourceError(f"{path} cannot be read: {e.strerror}.", "Check the permissions of the file.") from e
    if start != b"PK":
        raise InputRefused(f"{path} is not an .npz file.", "Write it with numpy.savez.")


def _check_sums(path: Path) -> None:
    """Numpy parses a member before its check sum is known, and would call damage a wrong format."""
    with zipfile.ZipFile(path) as archive:
        if bad := archive.testzip():
            raise zipfile.BadZipFile(bad)
