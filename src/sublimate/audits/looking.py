"""What the attacks of the second tier share: what they look at, and how their findings become tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from ..splits import Part, Split
from .intervals import Interval
from .result import Outcome, Skipped, Test
from .shares import Shares
from .statistics import difference, tost


@dataclass
class Look:
    """The networks and records under audit; what was left out and what it cost is noted on the way."""

    model: nn.Module
    original: nn.Module
    split: Split  # of the records that are looked at
    gone: Tensor  # wholly forgotten classes
    references: Sequence[nn.Module]  # clean ones
    delta: float  # of |AUC − .5| that counts as alike
    seed: int
    skipped: list[Skipped] = field(default_factory=list)
    undone: list[Skipped] = field(default_factory=list)  # of them those that leave the network itself untested
    images: int = 0
    steps: int = 0

    @property
    def forget(self) -> Part:
        """Forgotten records."""
        return self.split.forget_set

    @property
    def control(self) -> Part:
        """Never-seen records of all classes."""
        return Part(self.split.data, self.split.control, "control")

    def skip(self, what: str, *whys: str) -> None:
        """Note what was not done, and why."""
        self.skipped += [Skipped(what=what, why=why) for why in whys]

    def fail(self, what: str, *whys: str) -> None:
        """The same for what could not be done to the network under audit, though there were records enough."""
        self.skip(what, *whys)
        self.undone += [Skipped(what=what, why=why) for why in whys]


@dataclass(frozen=True)
class Hint:
    """A test whose p-value is yet to be corrected for their number; without one it is only reported."""

    test: Test
    p: float | None = None
    counts: bool = True  # whether a difference is of the direction and the size that count


def hint(
    look: Look,
    name: str,
    says: str,
    value: float,
    *,
    p: float | None = None,
    p_alike: float | None = None,
    counts: bool = True,
    span: tuple[float, float] | None = None,
    n: tuple[int, int] | None = None,
    outcome: Outcome = "reported",
    detail: Mapping[str, Any] = {},
) -> Hint:
    """A finding in words and figures."""
    n_forget, n_control = n or (len(look.forget), len(look.control))
    low, high = span or (None, None)
    told = {"says": says, **detail}
    test = Test(
        name=name, tier=2, value=value, low=low, high=high, n_forget=n_forget, n_control=n_control, p_alike=p_alike,
        outcome=outcome, detail=told,
    )  # fmt: skip
    return Hint(test, p, counts)


def auc_hint(
    look: Look, name: str, says: str, i: Interval, *, only_above: bool = False, detail: Mapping[str, Any] = {}
) -> Hint:
    """A finding that is an AUC of forgotten against never-seen records."""
    return hint(
        look, name, says, i.value, p=difference(i), p_alike=tost(i, look.delta),
        counts=i.value > 0.5 or not only_above, span=(i.low, i.high), n=(i.n, i.m), detail=detail,
    )  # fmt: skip


def shares_hint(look: Look, name: str, says: str, found: Shares) -> Hint:
    """A finding that is a difference of two shares, in points."""
    return hint(look, name, says, found.points, p=found.p, n=(found.n, found.m))
