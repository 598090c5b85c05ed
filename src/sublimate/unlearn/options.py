"""Hyper-parameters from people: the right type, a sensible range, a message that helps."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ..data.views import view
from ..errors import InputRefused, UsageError, unknown

MAY_BE_ZERO = {"momentum", "weight_decay", "lam", "kvc", "seed", "no_l1_epochs"}


def from_text(text: str) -> Any:
    """A value as typed after `--set name=`: a number, true, false, or a word.

    >>> from_text("1e-3"), from_text("true"), from_text("retained")
    (0.001, True, 'retained')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def check_names(cls: type, options: Mapping[str, Any]) -> None:
    """Refuse options the method does not have."""
    known = sorted(f.name for f in fields(cls))
    if wrong := [name for name in options if name not in known]:
        raise unknown(UsageError, f"option of {getattr(cls, 'name', cls.__name__)}", wrong, known)


def _exact(value: Any, hint: Any) -> bool:
    # A whole number may stand for a real one, but true is no number.
    return isinstance(value, bool) or not isinstance(value, int) or hint is int


def check_values(method: Any) -> None:
    """Refuse values of a wrong type or outside any sensible range."""
    hints = get_type_hints(type(method))
    for f in fields(method):
        value = getattr(method, f.name)
        if f.name == "views":
            view(value)
            continue
        try:
            TypeAdapter(hints[f.name]).validate_python(value, strict=_exact(value, hints[f.name]))
        except ValidationError as error:
            expected = error.errors()[0]["msg"][:1].lower() + error.errors()[0]["msg"][1:]
            raise InputRefused(f"The option {f.name} cannot be {value!r}.", f"For {f.name}, {expected}.") from None
        if isinstance(value, int | float) and not isinstance(value, bool):
            least = "at least 0" if f.name in MAY_BE_ZERO else "above 0"
            if not math.isfinite(value) or value < 0 or (value == 0 and f.name not in MAY_BE_ZERO):
                raise InputRefused(f"The option {f.name} cannot be {value!r}.", f"Give a number {least}.")
