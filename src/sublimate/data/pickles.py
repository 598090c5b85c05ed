"""Reading a CIFAR batch, which is a pickle, as data alone: nothing that the file names is ever called."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..errors import IntegrityError

AGAIN = "Do not trust this file; fetch it again from the authors' page."
NUMPY = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class _Foreign(Exception):
    """The file names something that is not on the list."""


class _Inert:
    """Stands for every name of numpy in the file: it remembers what it was given and does nothing."""

    __slots__ = ("args", "state")

    def __init__(self, *args: Any) -> None:
        self.args: tuple[Any, ...] = args
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) in NUMPY:
            return _Inert
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes for Python 2
            return lambda text, _: text.encode("latin1")
        raise _Foreign(f"{module}.{name}")


def read_batch(raw: bytes, label_key: str, name: str) -> tuple[Tensor, Tensor]:
    """Pixels (n, 3072) and labels of one batch file, both uint8."""
    try:
        batch = _Unpickler(io.BytesIO(raw), encoding="bytes").load()
        return _pixels(batch[b"data"]), torch.tensor(batch[label_key.encode()], dtype=torch.uint8)
    except _Foreign as e:
        raise IntegrityError(f"{name} names {e}, which no such file needs.", AGAIN) from e
    except Exception as e:  # a damaged pickle may raise nearly anything
        raise IntegrityError(f"{name} is damaged ({type(e).__name__}: {e}).", AGAIN) from e


def _pixels(array: _Inert) -> Tensor:
    """Build the array that the file describes: `state` is what numpy pickles of an array."""
    _, shape, dtype, columns_first, raw = array.state
    if dtype.args[0] not in (b"u1", "u1"):
        raise ValueError("pixels are not bytes")
    flat = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
    rows = flat.reshape(shape[::-1]).T if columns_first else flat.reshape(shape)
    return rows.reshape(-1, 3072)
