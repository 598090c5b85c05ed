"""Image files, decoded by Pillow into rows of one shape."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import InputRefused

GREY = {"1", "L", "LA"}
UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, struct.error, Image.DecompressionBombError)


def look(files: Sequence[Path], size: int | None) -> tuple[str, int, int]:
    """Mode, width and height for all, from the headers alone."""
    if size is not None and size < 1:
        raise InputRefused(f"Images cannot be resized to {size} pixels.", "Give a size of at least 1.")
    first, grey = _header(files[0]), True
    for file in files:
        mode, shape = _header(file)
        grey = grey and mode in GREY
        if size is None and shape != first[1]:
            raise InputRefused(
                f"{files[0]} has {first[1][0]}x{first[1][1]} pixels, but {file} has {shape[0]}x{shape[1]}.",
                "Give size= (--size), and every image is resized to it.",
            )
    return ("L" if grey else "RGB", *((size, size) if size else first[1]))


def _header(file: Path) -> tuple[str, tuple[int, int]]:
    try:
        with Image.open(file) as image:
            mode, shape = image.mode, image.size
    except UNREADABLE as e:
        raise _unreadable(file) from e
    check_depth(mode, str(file))
    return mode, shape


def check_depth(mode: str, name: str) -> None:
    """Refuse whole numbers above 8 bits and floats: Pillow would cut the values off at 255."""
    if mode[0] in "IF":
        raise InputRefused(f"{name} has more than 8 bits per channel.", "Save it with 8 bits per channel.")


def decode(files: Sequence[Path], mode: str, shape: tuple[int, int], rows: Tensor) -> Tensor:
    """These rows as uint8 (n, C, H, W); the reader of streamed folders."""
    width, height = shape
    images = torch.empty(len(rows), len(mode), height, width, dtype=torch.uint8)
    for out, row in zip(images, rows.tolist(), strict=True):
        try:
            with Image.open(files[row]) as image:
                pixels = image.convert(mode)
        except UNREADABLE as e:
            raise _unreadable(files[row]) from e
        if pixels.size != shape:
            pixels = pixels.resize(shape, Image.Resampling.BILINEAR)
        out.copy_(torch.from_numpy(np.array(pixels)).view(height, width, -1).permute(2, 0, 1))
    return images


def _unreadable(file: Path) -> InputRefused:
    return InputRefused(f"{file} is not a readable image.", "Repair or remove it.")
