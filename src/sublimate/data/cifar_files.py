"""The forms in which CIFAR-10 and CIFAR-100 lie on disks: lossless mosaics, official pickles, official binary files."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from ..errors import IntegrityError
from .arrays import read_arrays
from .image_files import UNREADABLE
from .pickles import read_batch
from .pixels import tiles

Rows = tuple[Tensor, Tensor]
"""Pixels (n, 32, 32, 3) and labels, both uint8."""

MOST_BYTES = 200_000_000  # the largest official file, the training part of CIFAR-100, has 155 million
AGAIN = "Fetch it again."


def from_mosaics(folder: Path, keys: tuple[str, str]) -> tuple[Rows, Rows]:
    """Training and test rows from `train_1.webp` … `train_5.webp`, `test.webp` and `labels.npz`."""
    table = read_arrays(folder / "labels.npz")
    pictures = [folder / f"{name}.webp" for name in ("train_1", "train_2", "train_3", "train_4", "train_5", "test")]
    try:
        with ThreadPoolExecutor(2) as pool:
            *train, test = pool.map(tiles, pictures, [32] * 6)
        y_train, y_test = (torch.from_numpy(table[key]) for key in keys)
        return (torch.cat(train), y_train), (test, y_test)
    except PermissionError:
        raise
    except (*UNREADABLE, RuntimeError, KeyError, TypeError) as e:
        raise IntegrityError(f"{folder} is incomplete or damaged ({e}).", AGAIN) from e


def from_pickles(files: Mapping[str, bytes], label_key: str) -> tuple[Rows, Rows]:
    """Training and test rows from the official Python files; the last one is the test part."""
    return _train_and_test([read_batch(raw, label_key, name) for name, raw in files.items()])


def from_binary(files: Mapping[str, bytes], label_bytes: int) -> tuple[Rows, Rows]:
    """Training and test rows from the official binary files; a record is its labels, the fine one last, then pixels."""
    tables = []
    for name, raw in files.items():
        if not raw or len(raw) % (label_bytes + 3072):
            raise IntegrityError(f"{name} does not hold a whole number of records.", AGAIN)
        tables.append(torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, label_bytes + 3072))
    return _train_and_test([(table[:, label_bytes:], table[:, label_bytes - 1]) for table in tables])


def _train_and_test(batches: Sequence[Rows]) -> tuple[Rows, Rows]:
    *train, test = ((x.reshape(-1, 3, 32, 32).permute(0, 2, 3, 1), y) for x, y in batches)
    return (torch.cat([x for x, _ in train]), torch.cat([y for _, y in train])), test


def members(path: Path, folder: str, names: Sequence[str]) -> dict[str, bytes]:
    """The named files of an unpacked folder, or of an archive that is read in memory and never unpacked."""
    found = _in_folder(path, names) if path.is_dir() else _in_archive(path, {f"{folder}/{name}" for name in names})
    missing = [name for name in names if name not in found]
    if missing:
        raise IntegrityError(f"{path} lacks {', '.join(missing)}.", AGAIN)
    return {name: found[name] for name in names}


def _in_folder(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    files = [folder / name for name in names if (folder / name).is_file()]
    for file in files:
        _check_size(file, file.stat().st_size)
    return {file.name: file.read_bytes() for file in files}


def _in_archive(path: Path, wanted: set[str]) -> dict[str, bytes]:
    found = {}
    with path.open("rb") as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r:gz") as archive:
                for member in archive:
                    _check_size(path, member.size)
                    if member.name in wanted and member.isfile() and (file := archive.extractfile(member)):
                        found[Path(member.name).name] = file.read()
        except (tarfile.TarError, EOFError, OSError, zlib.error) as e:
            raise IntegrityError(f"{path} is truncated or damaged ({e}).", AGAIN) from e
    return found


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise IntegrityError(f"{path} holds a file of {size} bytes, more than any official one.", AGAIN)
