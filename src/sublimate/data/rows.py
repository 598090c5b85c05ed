"""Single rows of a torch data set: read, brought into one form, and found to be steady."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import InputRefused, SublimateError
from ..importing import told
from ..randomness import guarded
from .image_files import GREY, check_depth

REREADS = 8  # so that even one flipped coin per read goes unseen only once in 2**32 times, over four rows


class Table(Protocol):
    """A map-style data set of pairs (image, label)."""

    def __len__(self) -> int: ...
    def __getitem__(self, row: int, /) -> Any: ...


Row = tuple[Tensor, Any]
"""Image (C, H, W) and label, as a plain number."""


def row(table: Table, i: int, pixels: bool) -> Row:
    """Row i, or a typed error."""
    try:
        item = table[i]
    except (SublimateError, MemoryError):
        raise
    except Exception as error:  # whatever the user's own code raises
        remedy = "Let dataset[i] return (image, label) for every row."
        raise InputRefused(f"Row {i} of the data set cannot be read: {told(error)}.", remedy) from error
    if not (isinstance(item, tuple | list) and len(item) == 2):
        raise InputRefused(f"Row {i} is {type(item).__name__}, not a pair.", "Let dataset[i] return (image, label).")
    return tensor_of(item[0], pixels), plain(item[1])


def plain(value: Any) -> Any:
    """Numbers of torch and numpy as Python's own."""
    return value.tolist() if isinstance(value, Tensor | np.ndarray | np.generic) else value


def tensor_of(image: Any, pixels: bool) -> Tensor:
    """Pixels (PIL, numpy with channels last, torch with channels first) or model-ready input as one image tensor."""
    if isinstance(image, Image.Image) and pixels:
        check_depth(image.mode, "An image")
        image = np.array(image.convert("L" if image.mode in GREY else "RGB"))
    if isinstance(image, np.ndarray):
        image = torch.from_numpy(np.array(image))
        image = image.permute(2, 0, 1) if pixels and image.ndim == 3 else image
    if not isinstance(image, Tensor):
        raise InputRefused(f"An image is {type(image).__name__}.", "Give tensors, or pixels with mean= and std=.")
    return checked(image[None] if pixels and image.ndim == 2 else image, pixels)


def checked(x: Tensor, pixels: bool) -> Tensor:
    """The same values as uint8 or float32, or a typed error."""
    if pixels and x.dtype == torch.uint8:
        return x
    if not x.is_floating_point():
        raise InputRefused(
            f"The images are {x.dtype}.", "Give uint8 pixels together with mean= and std=, or model-ready floats."
        )
    if pixels and x.numel() and not (float(x.min()) >= 0 and float(x.max()) <= 1):
        raise InputRefused(
            "Float pixels must lie in 0..1, and these do not.",
            "Divide by 255; if they are normalised already, leave out mean and std.",
        )
    return x.detach().float()


def read(table: Table, pixels: bool, example: Tensor, rows: Tensor) -> Tensor:
    """The reader of torch data sets; every row must look like the example."""
    with guarded():  # a transform may draw random numbers even where they change nothing
        images = [row(table, i, pixels)[0] for i in rows.tolist()]
    for i, x in zip(rows.tolist(), images, strict=True):
        check_alike(x, example, i)
    return torch.stack(images) if images else example.new_empty(0, *example.shape)


def check_alike(x: Tensor, example: Tensor, i: int) -> None:
    """Refuse an image of another shape or type than the first one."""
    if x.shape != example.shape or x.dtype != example.dtype:
        raise InputRefused(
            f"Row {i} is {x.dtype} of shape {tuple(x.shape)}, the first row {example.dtype} of {tuple(example.shape)}.",
            "Bring all images to one size and type.",
        )


def steady_rows(table: Table, pixels: bool) -> dict[int, Row]:
    """Up to four spread rows, each read again and again; refuse a data set that changes between reads."""
    n = len(table)
    places: Sequence[int] = sorted({0, n // 3, 2 * n // 3, n - 1}) if n else ()
    first = {i: row(table, i, pixels) for i in places}
    for _ in range(REREADS):
        for i, (x, y) in first.items():
            x2, y2 = row(table, i, pixels)
            if y2 != y or not torch.equal(x2.nan_to_num(), x.nan_to_num()):
                raise InputRefused(
                    f"Row {i} is another image at every read.",
                    "Give the data set without random transforms; Sublimate makes the augmented views itself.",
                )
    return first
