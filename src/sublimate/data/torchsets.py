"""Torch data sets, loaders and pairs of tensors as `Data`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from ..errors import InputRefused, check_is
from ..randomness import guarded
from .core import Data
from .pixels import check_normalisation
from .rows import Row, checked, plain, read, steady_rows
from .targets import labels_of


def as_data(source: object) -> Data:
    """A data set, a loader or a pair of tensors as model-ready training rows; `Data` as it is.

    >>> as_data((torch.zeros(3, 1, 8, 8), torch.tensor([0, 2, 1]))).classes
    ('0', '1', '2')
    """
    return source if isinstance(source, Data) else from_dataset(source)


def from_dataset(
    train: object,
    test: object = None,
    val: object = None,
    *,
    classes: Sequence[object] | None = None,
    ids: Sequence[object] | None = None,
    mean: Sequence[float] | float | None = None,
    std: Sequence[float] | float | None = None,
    flip: bool = True,
    name: str = "dataset",
) -> Data:
    """See `Data.from_dataset`."""
    check_is("flip", flip, bool | np.bool_, "Give True or False.")
    pixels = mean is not None
    tables = [_table(source) for source in (train, test, val)]
    with guarded():
        probes = [steady_rows(table, pixels) for table in tables]
        if not probes[0]:
            raise InputRefused(f"{name} has no training rows.", "Give the records the network was trained on.")
        example = _image(probes[0][0][0])
        labels = torch.cat([labels_of(t, probe, example, pixels) for t, probe in zip(tables, probes, strict=True)])
    if mean is not None or std is not None:
        mean, std = check_normalisation(name, len(example), _numbers("mean", mean), _numbers("std", std))
    images = _in_memory([table for table in tables if len(table)], pixels, example)
    return Data(
        name=name,
        images=partial(read, ConcatDataset(tables), pixels, example) if images is None else images,
        labels=labels,
        sizes=(len(tables[0]), len(tables[1]), len(tables[2])),
        classes=_names(tables[0], labels) if classes is None else _texts("classes", classes),
        ids=() if ids is None else _texts("ids", ids),
        mean=mean,
        std=std,
        flip=flip,
        content=_content(probes) if images is None else None,
    )


def _table(source: Any) -> Any:
    """Whatever was given, as a map-style data set; nothing becomes one without rows."""
    if source is None:
        return TensorDataset(torch.empty(0), torch.empty(0))
    if isinstance(source, DataLoader):
        source = source.dataset
    if isinstance(source, tuple | list) and len(source) == 2 and all(isinstance(t, Tensor) for t in source):
        if len(source[0]) != len(source[1]):
            raise InputRefused(f"There are {len(source[0])} images but {len(source[1])} labels.", "Give one per image.")
        return TensorDataset(*source)
    if not isinstance(source, Dataset) or isinstance(source, IterableDataset) or not hasattr(source, "__len__"):
        raise InputRefused(
            f"{type(source).__name__} gives no row by its number.",
            "Give a map-style torch Dataset, a DataLoader of one, or a pair of tensors (x, y).",
        )
    return source


def _image(example: Tensor) -> Tensor:
    if example.ndim != 3:
        raise InputRefused(f"An image has the shape {tuple(example.shape)}.", "Give images of (C, H, W).")
    return example


def _in_memory(tables: Sequence[Any], pixels: bool, example: Tensor) -> Tensor | None:
    """All images as one tensor, if tensors are what was given."""
    if not all(isinstance(table, TensorDataset) for table in tables):
        return None
    # Grey pixels may come without an axis for the channel.
    return torch.cat([checked(table.tensors[0].cpu(), pixels).reshape(-1, *example.shape) for table in tables])


def _names(table: Any, labels: Tensor) -> tuple[str, ...]:
    while isinstance(table, Subset):
        table = table.dataset
    names = getattr(table, "classes", None)
    return tuple(map(str, range(int(labels.max()) + 1) if names is None else names))


def _texts(name: str, values: Any) -> tuple[str, ...]:
    found = plain(values)
    check_is(name, found, Iterable, "Give a list, one for each.")
    return tuple(map(str, found))


def _numbers(name: str, values: Any) -> Sequence[float]:
    """One value per channel; a number alone is that of the only one."""
    found = plain(values)
    found = () if found is None else (found,) if isinstance(found, Real) else found
    check_is(name, found, list | tuple, "Give numbers, one per channel.")
    for value in found:
        check_is(f"A value of {name}", value, Real, "Give numbers, one per channel.")
    return tuple(found)


def _content(probes: Sequence[Mapping[int, Row]]) -> str:
    """Two streamed sets that differ in a few spread rows are not the same; more would need a pass over all of them."""
    h = hashlib.sha256()
    for probe in probes:
        for x, _ in probe.values():
            h.update(f"{x.dtype} {tuple(x.shape)}".encode() + x.contiguous().cpu().numpy().tobytes())
    return h.hexdigest()
