"""The rows that a request names, and the rows that are drawn beside them: for `splits.py` alone."""

from __future__ import annotations

import torch
from torch import Tensor

from .data.core import Data
from .errors import InputRefused, unknown
from .randomness import stream
from .request import FullClass, RandomFraction, Records, Request, SubClass


def selected(data: Data, request: Request, alive: Tensor, seed: int) -> Tensor:
    """D_f: the living rows that the request names or, where it asks for a share, draws."""
    if isinstance(request, Records):
        return _named(data, request, alive)
    rows = _candidates(data, request, alive)
    if request.share < 1:
        drawn = torch.randperm(len(rows), generator=stream(seed, "forget"))[: round(request.share * len(rows))]
        rows = rows[drawn.sort().values]
    if len(rows) == 0:
        earlier = "" if bool(alive.all()) else " that was not forgotten earlier"
        raise InputRefused(f"No training record fits {request.text}{earlier}.", "Ask for at least one record.")
    return rows


def _named(data: Data, request: Records, alive: Tensor) -> Tensor:
    rows = rows_of(data, request.ids)
    if len(rows) == 0:
        raise InputRefused("The request names no record.", "Ask for at least one record.")
    if len(gone := rows[~alive[rows]]):
        names = ", ".join(data.ids[int(r)] for r in gone[:5])
        raise InputRefused(f"Records {names} are excluded.", "Leave out what was forgotten earlier.")
    return rows


def _candidates(data: Data, request: FullClass | SubClass | RandomFraction, alive: Tensor) -> Tensor:
    """The living rows of the classes that are asked for, or all."""
    if isinstance(request, RandomFraction):
        return alive.nonzero().flatten()
    if missing := [name for name in request.names if name not in data.classes]:
        raise unknown(InputRefused, "class", missing, data.classes)
    classes = torch.tensor([data.classes.index(name) for name in request.names])
    return (torch.isin(data.labels[: len(alive)], classes) & alive).nonzero().flatten()


def rows_of(data: Data, ids: tuple[str, ...]) -> Tensor:
    """The rows of these records, in order."""
    place = {name: row for row, name in enumerate(data.ids)}
    if missing := [i for i in ids if i not in place]:
        raise unknown(InputRefused, "record id", missing, data.ids)
    return torch.tensor([place[i] for i in ids], dtype=torch.long).sort().values


def stratified(labels: Tensor, rows: Tensor, count: int, seed: int) -> Tensor:
    """`count` of the rows, each class in proportion (and none left out while there is room)."""
    if count < 1:
        raise InputRefused(f"A retain budget of {count} is too small.", "Give at least 1, or all.")
    order = rows[torch.randperm(len(rows), generator=stream(seed, "few"))]
    y = labels[order]
    size, rank = torch.bincount(y), torch.empty(len(y), dtype=torch.double)
    for k in size.nonzero().flatten():
        rank[y == k] = (torch.arange(int(size[k]), dtype=torch.double) + 0.5) / size[k]
        rank[(y == k).nonzero()[0]] = -1.0  # the first of each class comes before all others
    return order[rank.argsort(stable=True)[:count]].sort().values


def never_seen(data: Data) -> tuple[Tensor, Tensor]:
    """`val` and `control`; they depend on the data alone, so no later seed mixes the two."""
    if len(data.val) or not len(data.test):
        return data.val, data.test
    count = max(1, min(2000, len(data.test) // 5))
    val = stratified(data.labels, data.test, count, seed=0)
    return val, data.test[~torch.isin(data.test, val)]
