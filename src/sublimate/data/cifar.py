"""CIFAR-10 and CIFAR-100 from any of their forms, verified, so that the same row is the same image everywhere."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import Tensor

from ..cache import cache_dir
from ..errors import InputRefused, IntegrityError, ResourceError
from .cifar_files import AGAIN, Rows, from_binary, from_mosaics, from_pickles, members
from .cifar_sets import Cifar
from .core import Data

Form = Callable[[Cifar, Path], tuple[Rows, Rows]]


def cifar(spec: Cifar, root: Path | None = None) -> Data:
    """The set, from the first form found in `root`, or else in `$SUBLIMATE_DATA` or the cache folder."""
    path, form = _find(spec, [Path(root)] if root else _usual_roots())
    try:
        train, test = form(spec, path)
    except PermissionError as e:
        raise ResourceError(f"{path} cannot be read: {e.strerror}.", "Check the permissions of the file.") from e
    _verify(spec, path, train, test)
    return Data(
        name=spec.name,
        images=torch.cat([train[0], test[0]]).permute(0, 3, 1, 2).contiguous(),
        labels=torch.cat([train[1], test[1]]).long(),
        sizes=(len(train[1]), len(test[1]), 0),
        classes=spec.classes,
        mean=spec.mean,
        std=spec.std,
        content=" ".join(spec.digests),
    )


def _usual_roots() -> list[Path]:
    named = os.environ.get("SUBLIMATE_DATA")
    return [*([Path(named).expanduser()] if named else []), cache_dir() / "data"]


def _find(spec: Cifar, roots: list[Path]) -> tuple[Path, Form]:
    for root in roots:
        for path, form in _forms(spec, root):
            if path.exists():
                return path, form
    raise InputRefused(
        f"{spec.name} was not found in {' or '.join(map(str, roots))}.",
        f"Put {spec.python[0]} or {spec.binary[0]} there, or let SUBLIMATE_DATA name the folder that holds it.",
    )


def _forms(spec: Cifar, root: Path) -> Iterable[tuple[Path, Form]]:
    """Where each form would lie; what is quicker to read comes first."""
    archive, folder = spec.python
    binary_archive, binary_folder = spec.binary
    return (
        (root / binary_folder, _binary),
        (root / folder, _python),
        (root / spec.name / "labels.npz", _mosaics),
        (root / binary_archive, _binary),
        (root / archive, _python),
    )


def _mosaics(spec: Cifar, path: Path) -> tuple[Rows, Rows]:
    return from_mosaics(path.parent, spec.mosaic_keys)


def _python(spec: Cifar, path: Path) -> tuple[Rows, Rows]:
    return from_pickles(members(path, spec.python[1], spec.batches), spec.label_key)


def _binary(spec: Cifar, path: Path) -> tuple[Rows, Rows]:
    return from_binary(members(path, spec.binary[1], [f"{batch}.bin" for batch in spec.batches]), spec.label_bytes)


def _verify(spec: Cifar, path: Path, train: Rows, test: Rows) -> None:
    """The labels take part as bytes, training rows first."""
    contents = {"training images": train[0], "test images": test[0], "labels": torch.cat([train[1], test[1]])}
    for (what, content), expected in zip(contents.items(), spec.digests, strict=True):
        if _digest(content) != expected:
            raise IntegrityError(f"The {what} in {path} are not those of {spec.name}: their digest differs.", AGAIN)


def _digest(x: Tensor) -> str:
    return hashlib.sha256(x.contiguous().numpy().data).hexdigest()
