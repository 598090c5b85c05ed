"""Errors a user can act on: one sentence of cause, one of remedy, and the exit code of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from heapq import nlargest
from types import UnionType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import nn


class SublimateError(Exception):
    """Base of all errors raised on purpose; `cause` says what is wrong, `remedy` what to do.

    >>> print(InputRefused("The forget set is empty.", "Name at least one record."))
    The forget set is empty. Name at least one record.
    """

    exit_code = 1

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause, remedy)  # both, so that the error survives pickling
        self.cause, self.remedy = cause, remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}"


class UsageError(SublimateError):
    """An unknown command, option, method, model, view or data name."""

    exit_code = 2


class InputRefused(SublimateError):
    """A class, id, value or file that does not fit."""

    exit_code = 3


class IntegrityError(SublimateError):
    """A file that is truncated or whose digest differs from the recorded one."""

    exit_code = 4


class ResourceError(SublimateError):
    """No disk space, no permission, no memory."""

    exit_code = 5


class UnlearningFailed(SublimateError):
    """The network became non-finite, collapsed, or did not change; `model` is the last good one."""

    exit_code = 6

    def __init__(self, cause: str, remedy: str, model: nn.Module | None = None) -> None:
        super().__init__(cause, remedy)
        self.model = model
        self.samples: Mapping[str, int] = {}  # what was read until then, per part
        self.kept = 0.0  # of a collapse: the share of the original's accuracy that was left


class Interrupted(SublimateError):
    """Stopped by a signal after the state was saved; the same command continues."""

    exit_code = 75


E_ = TypeVar("E_", bound=SublimateError)


def check_is(name: str, value: object, kind: type | UnionType, remedy: str) -> None:
    """Refuse an argument of a wrong kind.

    >>> check_is("seed", "x", int, "Give a whole number.")
    Traceback (most recent call last):
    sublimate.errors.InputRefused: seed cannot be of type str. Give a whole number.
    """
    if not isinstance(value, kind):
        raise InputRefused(f"{name} cannot be of type {type(value).__name__}.", remedy)


def unknown(error: type[E_], kind: str, names: Iterable[object], known: Iterable[object], most: int = 12) -> E_:
    """Build the error for names nobody knows; the known ones are listed, nearest first.

    >>> print(unknown(InputRefused, "class", ["cta"], ["truck", "cat"]))
    No class 'cta'. Known, nearest first: cat, truck.
    """
    wrong, everything = list(map(str, names)), list(map(str, known))
    wanted = wrong[0].lower()
    nearest = nlargest(most, everything[:100_000], key=lambda k: SequenceMatcher(None, wanted, k.lower()).ratio())
    shown = ", ".join(repr(w) for w in wrong[:most]) + (f" and {len(wrong) - most} more" if len(wrong) > most else "")
    rest = f" … ({len(everything)} in all)" if len(everything) > len(nearest) else ""
    return error(f"No {kind} {shown}.", f"Known, nearest first: {', '.join(nearest)}{rest}.")
