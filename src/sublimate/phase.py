"""What a method describes and the loop runs: passes over a part of the data, and steps that give named losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from .data.batches import Batch, Batches, Blank

CHECK_EVERY = 50  # iterations: the guard looks about this often where an epoch is a single batch
LOOKS = 10  # at a phase that reads no data, and so has no epochs
Losses = Mapping[str, Tensor]
Step = Callable[[Batch], Losses]
Measured = dict[str, float]


def constant(done: float) -> float:
    """The learning rate stays."""
    return 1.0


def cosine(done: float) -> float:
    """The learning rate falls to nil.

    >>> [round(cosine(d), 3) for d in (0.0, 0.5, 1.0)]
    [1.0, 0.5, 0.0]
    """
    return (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Passes over one part; each step of an iteration gives named losses and makes one update on their sum.

    A step that gives no losses makes no update: it rests, or it only gathers statistics (then there is no optimizer).
    Whatever a later phase needs of an earlier one (sums, saved weights, an optimizer) is a module or optimizer of both.
    """

    name: str
    over: Batches | Blank
    epochs: int
    steps: Sequence[Step]
    optimizer: torch.optim.Optimizer | None = None
    lr: float = 0.0
    first: int = 0  # number of its first batch: a later pass over the same part goes on with the shuffles
    modules: Mapping[str, nn.Module] = field(default_factory=dict)  # what is saved beside the network
    schedule: Callable[[float], float] = constant  # share of the phase done -> factor of the learning rate
    clip: float | None = None  # bound on the norm of the gradient
    watch: Callable[[], tuple[Measured, str | None]] | None = None  # what was measured, and a reason to stop or None
    every: int = 1  # iterations from one watch to the next
    after: Callable[[], None] | None = None  # after every update
    finish: Callable[[], None] | None = None  # when the phase is over; may change the network

    @property
    def iterations(self) -> int:
        """How many iterations the phase has at most."""
        return self.epochs * len(self.over)

    def checks(self, done: int) -> bool:
        """Whether the guard looks now: at the end of an epoch (a short one may be skipped), and at the very end."""
        n = len(self.over)
        return done == self.iterations or (done % n == 0 and done // CHECK_EVERY != (done - n) // CHECK_EVERY)

    def shows(self, done: int) -> bool:
        """Whether an observer is told now: at the end of an epoch, else a few times, evenly; not at the very end."""
        each = len(self.over) if isinstance(self.over, Batches) else max(1, round(self.iterations / LOOKS))
        return done % each == 0 and done < self.iterations
