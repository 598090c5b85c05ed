"""Original: nothing is done, the reference at the other end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..phase import Phase
from .base import Unlearner
from .card import Card
from .job import Job


@dataclass(frozen=True, kw_only=True)
class Original(Unlearner):
    """An equal copy of the network: what every table begins with.

    >>> Original().reads(forget=10, retain=90)
    {}
    """

    name = "original"
    card = Card(
        title="Original",
        source="none: the network as it was trained, before anything is forgotten",
        formula="θ = θ₀",
        pitfalls=("It is no method: what it scores is what a method has to leave behind.",),
    )
    changes = False

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """Nothing."""
        return {}

    def phases(self, job: Job) -> Iterator[Phase]:
        """None."""
        return iter(())
