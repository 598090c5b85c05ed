"""Batches of a part.  Batch `t` depends on the seed and on `t` alone, so a run continues from any place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from ..randomness import stream
from ..splits import Part

LEAST = 2  # rows in a batch: a batch norm over vectors refuses to train on one


@dataclass(frozen=True)
class Batch:
    """Images as stored (before views and normalisation), labels, and their places in the part."""

    t: int
    x: Tensor
    y: Tensor
    places: Tensor


class Blank:
    """Iterations that read no data: noise is learned, a generator plays.

    >>> len(Blank(5)), len(Blank(5).at(3).x)
    (5, 0)
    """

    def __init__(self, iterations: int) -> None:
        self._iterations = iterations

    def __len__(self) -> int:
        return self._iterations

    def at(self, t: int) -> Batch:
        """Nothing but the number of the iteration."""
        nothing = torch.empty(0, dtype=torch.long)
        return Batch(t, nothing, nothing, nothing)


class Meter(Counter[str]):
    """How many samples were read, per part."""


def one_pass(rows: int, size: int, fill: int = 0) -> tuple[int, int]:
    """Batches in one pass over so many rows, and the records read in it.

    >>> one_pass(100, 32), one_pass(100, 32, fill=8)
    ((4, 100), (4, 104))
    """
    size = min(size, rows)
    full, rest = divmod(rows, size)
    return full + bool(rest), full * max(size, fill) + (max(rest, fill) if rest else 0)


class Batches:
    """Seeded shuffled passes over a part.

    `cycle`: every batch is full and a new pass begins where the last one ended (S_r).  Otherwise a pass ends with
    what is left over.  `fill`: a smaller batch is filled up by repeating its records.
    """

    def __init__(
        self,
        part: Part,
        size: int,
        *,
        seed: int,
        meter: Meter,
        device: torch.device,
        cycle: bool = False,
        fill: int = 0,
    ) -> None:
        self.part, self.size, self.seed, self.cycle, self.fill = part, min(size, len(part)), seed, cycle, fill
        self._meter, self._device, self._orders = meter, device, dict[int, Tensor]()

    def __len__(self) -> int:
        """Batches in one pass."""
        return -(-len(self.part) // self.size)

    def at(self, t: int) -> Batch:
        """Batch number `t` of an endless sequence of passes."""
        places = self._places(t)
        if len(places) < self.fill:
            places = places.repeat(-(-self.fill // len(places)))[: self.fill]
        x, y = self.part.data.read(self.part.rows[places])
        self._meter[self.part.name] += len(places)
        return Batch(t, x.to(self._device), y.to(self._device), places)

    def _places(self, t: int) -> Tensor:
        if not self.cycle:
            turn, k = divmod(t, len(self))
            return self._order(turn)[k * self.size : (k + 1) * self.size]
        flat = torch.arange(t * self.size, (t + 1) * self.size)
        turns, offsets = flat // len(self.part), flat % len(self.part)
        return torch.cat([self._order(int(turn))[offsets[turns == turn]] for turn in turns.unique()])

    def _order(self, turn: int) -> Tensor:
        if turn not in self._orders:
            for old in [k for k in self._orders if k < turn - 1]:
                del self._orders[old]
            self._orders[turn] = torch.randperm(len(self.part), generator=stream(self.seed, self.part.name, turn))
        return self._orders[turn]
