"""A folder of class folders as a data set: `train/<class>/…`, and if present `test/<class>/…` and `val/<class>/…`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import InputRefused, unknown
from .core import Data
from .pixels import channel_stats

ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
IN_MEMORY = 512 * 2**20  # bytes; below this a set is decoded once, since decoding again in every epoch is slow
GREY = {"1", "L", "LA"}


def image_folder(root: Path, size: int | None = None) -> Data:
    """Data from the folder; with `size`, every image is resized to size x size."""
    if not (root / "train").is_dir():
        raise InputRefused(f"{root} has no folder train/.", "Put the images into train/<class>/ and test/<class>/.")
    classes = tuple(sorted(folder.name for folder in _visible(root / "train") if folder.is_dir()))
    parts = [_part(root / part, classes) for part in ("train", "test", "val")]
    files = [file for part in parts for file, _ in part]
    ...
