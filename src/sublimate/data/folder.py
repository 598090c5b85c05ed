"""A folder of class folders as a data set: `train/<class>/…`, and if present `test/<class>/…` and `val/<class>/…`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from ..errors import InputRefused
from .core import Data
from .image_files import decode, look
from .pixels import channel_stats

ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
IN_MEMORY = 512 * 2**20  # bytes; a smaller set is decoded once, since decoding anew in every epoch is slow
FOR_STATS = 2000


def image_folder(root: Path, size: int | None = None) -> Data:
    """Data from the folder; with `size`, every image is resized to size x size."""
    classes = _class_names(root)
    parts = [_files(root / part, classes) for part in ("train", "test", "val")]
    if not parts[0]:
        raise InputRefused(f"{root / 'train'} holds no images.", f"Images end in {', '.join(sorted(ENDINGS))}.")
    files = [file for part in parts for file, _ in part]
    mode, width, height = look(files, size)
    read = partial(decode, files, mode, (width, height))
    train = len(parts[0])
    in_memory = len(files) * len(mode) * width * height < IN_MEMORY
    images = read(torch.arange(len(files))) if in_memory else read
    some = torch.randperm(train, generator=torch.Generator().manual_seed(0))[:FOR_STATS]
    mean, std = channel_stats(images.__getitem__ if isinstance(images, Tensor) else images, some)
    return Data(
        name=root.resolve().name,
        images=images,
        labels=torch.tensor([label for part in parts for _, label in part]),
        sizes=(train, len(parts[1]), len(parts[2])),
        classes=classes,
        ids=tuple(file.relative_to(root / "train").as_posix() for file, _ in parts[0]),
        mean=mean,
        std=std,
        content=None if in_memory else _content(root, files, (width, height)),
    )


def _class_names(root: Path) -> tuple[str, ...]:
    names = tuple(sorted(p.name for p in (root / "train").glob("*/") if not p.name.startswith(".")))
    if not names:
        raise InputRefused(
            f"{root} has no folders train/<class>.", "Put the images into train/<class>/, test/<class>/."
        )
    for part in ("test", "val"):
        for folder in sorted((root / part).glob("*/")):
            if not folder.name.startswith(".") and folder.name not in names:
                raise InputRefused(f"{folder} is a class that train/ lacks.", "Rename, move or remove that folder.")
    return names


def _files(part: Path, classes: Sequence[str]) -> list[tuple[Path, int]]:
    """Images and class numbers, ordered by class and then by path, so that the order is the same on every machine."""
    found = []
    for label, name in enumerate(classes):
        inside = sorted(p.relative_to(part).as_posix() for p in (part / name).rglob("*"))
        visible = (p for p in inside if not any(step.startswith(".") for step in p.split("/")))
        found += [(part / p, label) for p in visible if Path(p).suffix.lower() in ENDINGS]
    return found


def _content(root: Path, files: Sequence[Path], shape: tuple[int, int]) -> str:
    """A digest that needs no decoding; the times of files are left out, since a copy changes them."""
    lines = [f"{file.relative_to(root).as_posix()} {file.stat().st_size}" for file in files]
    return hashlib.sha256("\n".join([str(shape), *lines]).encode()).hexdigest()
