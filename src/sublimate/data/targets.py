"""Labels of a torch data set: from its own list where that can be trusted, else from one pass over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputRefused
from .rows import Row, Table, check_alike, plain, row


def labels_of(table: Table, probe: Mapping[int, Row], example: Tensor, pixels: bool) -> Tensor:
    """One whole class number per row; `probe` are rows that were read already, `example` is what images look like."""
    for i, (x, _) in probe.items():
        check_alike(x, example, i)
    for attribute in ("targets", "labels"):
        listed = getattr(table, attribute, None)
        if isinstance(listed, Tensor | np.ndarray | list | tuple) and len(listed) == len(table):
            values = [plain(value) for value in plain(listed)]
            # A transform of targets makes the list differ from what the rows give; the rows are right.
            if all(values[i] == y for i, (_, y) in probe.items()):
                return class_numbers(values)
    return class_numbers([_checked_label(table, i, example, pixels) for i in range(len(table))])


def _checked_label(table: Table, i: int, example: Tensor, pixels: bool) -> Any:
    x, y = row(table, i, pixels)
    check_alike(x, example, i)
    return y


def class_numbers(values: list[Any]) -> Tensor:
    """Labels as int64; what is no single whole number per row is refused by its name."""
    try:
        labels = torch.tensor(values) if values else torch.empty(0, dtype=torch.long)
    except (ValueError, TypeError, RuntimeError) as e:
        raise InputRefused(f"The labels are no numbers: {values[0]!r}.", "Give a whole class number per row.") from e
    if labels.ndim != 1:
        raise InputRefused("The labels have several values per row: multi-label is not supported.", "Give one class.")
    if labels.is_floating_point():
        raise InputRefused("The labels are floats: regression is not supported.", "Give whole class numbers.")
    return labels.long()
