"""One method under contract: the options to try it with, and how to run it on the toy problem."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal

from torch import nn

from ..data.core import Data
from ..errors import UnlearningFailed
from ..splits import Part, Split, split
from ..unlearn.base import Outcome, Unlearner
from .toy import ZOO, Toy, toy_problem

Setup = Callable[[Toy], tuple[nn.Module, Any]]


def as_trained(toy: Toy) -> tuple[nn.Module, Any]:
    """The network of the problem, and no records."""
    return toy.model, None


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A method, and what may be expected of it on the toy problem.

    `quick`: options with which it runs fast and has an effect; all others below come on top of these.
    `setup`: gives the network and the records of training for a toy problem (default: its network, no records).
    """

    cls: type[Unlearner]
    quick: Mapping[str, Any] = field(default_factory=dict)
    enough: Mapping[str, Any] = field(default_factory=dict)  # with these a whole class is forgotten
    ruin: Mapping[str, Any] | None = None  # with these it must diverge or collapse; None: it cannot
    idle: Mapping[str, Any] | None = None  # with these nothing happens; default: a tiny lr, if it has one; {}: never
    setup: Setup = as_trained
    few: int | Literal["all"] = 60  # retained records that it is given, of 180
    random: bool = True  # another seed gives other weights
    stops_early: bool = False  # it may read less than it declares
    judges: bool = False  # it chooses by a Judge: needs `val`, and reads D_f to judge
    faint: bool = False  # a small request may have no effect; then the run must say so
    forgets: bool = True  # a whole class falls below one half; False: its confidence falls at all
    keeps: float = 90.0  # accuracy on retained records after a whole class is forgotten

    def method(self, options: Mapping[str, Any] | None = None) -> Unlearner:
        """The method with its quick options and these."""
        return self.cls(**{**self.quick, **(options or {})})

    def owes(self, holds: bool, what: str) -> None:
        """The one way in which a check fails."""
        if not holds:
            raise AssertionError(f"{self.cls.__name__}: {what}")

    def has(self, option: str) -> bool:
        """Whether the method has such an option."""
        return any(f.name == option for f in fields(self.cls))


@cache
def problem(classes: int = 4) -> Toy:
    """The toy problem, trained once."""
    return toy_problem(classes)


@cache
def odd_problem(kind: str) -> Toy:
    """The toy problem with a network of the zoo, trained once."""
    return toy_problem(build=ZOO[kind])


@cache
def start(setup: Setup, toy: Toy) -> tuple[nn.Module, Any]:
    """What a method starts from on a problem, made once."""
    return setup(toy)


def chosen(case: Case, toy: Toy, request: str = "", data: Data | None = None) -> Split:
    """The split of a request (default: the problem's own) with as many retained records as the case asks for."""
    return split(data or toy.data, request or toy.split.request, few=case.few)


def guarding(case: Case, rows: Split) -> Part | None:
    """Never-seen records; none for who starts anew: its quick options make no good network."""
    return rows.val_set if case.judges or not case.cls.anew else None


def run(
    case: Case,
    toy: Toy,
    options: Mapping[str, Any] | None = None,
    *,
    rows: Split | None = None,
    model: nn.Module | None = None,
    **extra: Any,
) -> Outcome:
    """Run the method on a problem, as a user would."""
    network, records = start(case.setup, toy)
    rows = rows or chosen(case, toy)
    given = {"ratios": rows.ratios, "val": guarding(case, rows), "records": records} | extra
    own = model or copy.deepcopy(network)  # whatever a method does to it, the next check starts from the same
    return case.method(options).run(own, rows.forget_set, rows.few_set, **given)


def run_if_felt(case: Case, toy: Toy, options: Mapping[str, Any] | None = None, **extra: Any) -> Outcome | None:
    """`run`; None where a faint method says that a small request had no effect."""
    try:
        return run(case, toy, options, **extra)
    except UnlearningFailed as failure:
        if case.faint and "no effect" in failure.cause:
            return None
        raise
