"""One `.npz` file as a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..errors import InputRefused
from .arrays import Arrays, read_arrays
from .core import Data
from .pixels import Normalisation, channel_stats, check_normalisation

PARTS = ("train", "test", "val")


def npz(path: Path) -> Data:
    """Data from `x_train, y_train` and, if present, test, validation, `classes, ids, class_counts, mean, std, flip`."""
    name, arrays = path.name, read_arrays(path)
    _check_keys(name, arrays)
    parts = {part: _part(name, arrays, part) for part in PARTS if f"x_{part}" in arrays}
    if len({(x.dtype, x.shape[1:]) for x, _ in parts.values()}) > 1:
        raise InputRefused(f"{name} has parts of different shape or type.", "Store the images of all parts in one way.")
    images, labels = (torch.cat(whole) for whole in zip(*parts.values(), strict=True))
    sizes = tuple(len(parts[part][1]) if part in parts else 0 for part in PARTS)
    counts = _counts(name, arrays)
    mean, std = _normalisation(name, arrays, images, sizes[0])
    return Data(
        name=path.stem,
        images=images,
        labels=labels,
        sizes=(sizes[0], sizes[1], sizes[2]),
        classes=_strings(name, arrays, "classes") or _numbered(labels, counts),
        ids=_strings(name, arrays, "ids"),
        mean=mean,
        std=std,
        flip=_flag(name, arrays, "flip"),
        class_counts=counts,
    )


def _check_keys(name: str, arrays: Arrays) -> None:
    parts = ["train", *(part for part in PARTS[1:] if {f"x_{part}", f"y_{part}"} & arrays.keys())]
    missing = [key for part in parts for key in (f"x_{part}", f"y_{part}") if key not in arrays]
    if missing:
        held = ", ".join(arrays) or "no array"
        raise InputRefused(f"{name} lacks {', '.join(missing)}.", f"Add what is missing; the file holds {held}.")


def _part(name: str, arrays: Arrays, part: str) -> tuple[Tensor, Tensor]:
    """Images (n, C, H, W), uint8 or float32 in 0..1, and whole labels."""
    x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
    if x.ndim == 3:
        x = x[..., None]
    if x.ndim != 4 or x.shape[3] > 4 >= x.shape[1]:
        raise InputRefused(f"x_{part} of {name} has the shape {x.shape}.", "Give N×H×W×C or N×H×W, channels last.")
    if y.shape != x.shape[:1] or y.dtype.kind not in "iu":
        raise InputRefused(
            f"y_{part} of {name} is {y.dtype} of shape {y.shape} for {len(x)} images.",
            "Give one whole class number per image; multi-label and regression targets are not supported.",
        )
    if x.dtype != np.uint8:
        x = _unit(f"x_{part} of {name}", x)
    return torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y.astype(np.int64))


def _unit(name: str, x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    # Written so that NaN, which compares false with everything, is refused too.
    if x.dtype.kind != "f" or (x.size and not (x.min() >= 0 and x.max() <= 1)):
        raise InputRefused(
            f"{name} is {x.dtype} and not all of it lies in 0..1.",
            "Store uint8, or divide by 255; model-ready input goes through Data.from_dataset.",
        )
    return x.astype(np.float32)


def _normalisation(name: str, arrays: Arrays, images: Tensor, train: int) -> Normalisation:
    if "mean" not in arrays and "std" not in arrays:
        return channel_stats(images.__getitem__, torch.arange(train))
    mean, std = (_reals(name, key, arrays.get(key)) for key in ("mean", "std"))
    return check_normalisation(name, images.shape[1], mean, std)


def _reals(name: str, key: str, values: npt.NDArray[Any] | None) -> list[float]:
    if values is None or values.dtype.kind not in "iuf":
        raise InputRefused(f"{name} has no numbers as {key}.", "Give both mean and std, or neither.")
    return [float(v) for v in values.ravel()]


def _flag(name: str, arrays: Arrays, key: str) -> bool:
    value = arrays.get(key, np.array(True))
    if value.size != 1 or value.dtype.kind not in "biu":
        raise InputRefused(f"{key} of {name} is {value.dtype} of shape {value.shape}.", "Store one True or False.")
    return bool(value.ravel()[0])


def _strings(name: str, arrays: Arrays, key: str) -> tuple[str, ...]:
    values = arrays.get(key, np.empty(0)).ravel()
    try:
        return tuple(v.decode() if isinstance(v, bytes) else str(v) for v in values.tolist())
    except UnicodeDecodeError:
        raise InputRefused(f"{key} of {name} holds bytes that are no UTF-8.", "Store them as texts.") from None


def _numbered(labels: Tensor, counts: tuple[int, ...] | None) -> tuple[str, ...]:
    known = len(counts) if counts else int(labels.max()) + 1 if len(labels) else 0
    return tuple(map(str, range(known)))


def _counts(name: str, arrays: Arrays) -> tuple[int, ...] | None:
    counts = arrays.get("class_counts")
    if counts is None:
        return None
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise InputRefused(f"class_counts of {name} is not a list of whole numbers.", "Give one count per class.")
    return tuple(counts.tolist())
