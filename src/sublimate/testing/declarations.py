"""What a method says of itself: name, card, options."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError, fields

from ..errors import SublimateError
from ..unlearn import METHODS
from ..unlearn.card import SCENARIOS
from .case import Case


def check_name_and_docstring(case: Case) -> None:
    """A name as it is typed on the command line, and a sentence of one's own."""
    cls = case.cls
    case.owes(
        bool(re.fullmatch(r"[a-z0-9]+([-+][a-z0-9]+)*\+?", cls.name)), f"{cls.name!r} is no name like other-ones."
    )
    case.owes(METHODS.get(cls.name, cls) is cls, f"the name {cls.name!r} belongs to another method.")
    own = (cls.__doc__ or "").strip()
    case.owes(bool(own) and not own.startswith(f"{cls.__name__}("), "the class has no docstring.")


def check_card(case: Case) -> None:
    """The card is complete, and the authors' values are options."""
    card = case.cls.card
    for name in ("title", "source", "formula", "memory"):
        case.owes(bool(vars(card)[name].strip()), f"the card has no {name}.")
    known = {f.name for f in fields(case.cls)}
    foreign = sorted(set(card.authors) - known)
    case.owes(not foreign, f"card.authors names {foreign}, which are no options.")
    try:
        case.cls(**card.authors)
    except SublimateError as error:
        case.owes(False, f"card.authors cannot be used: {error}")


def check_declarations(case: Case) -> None:
    """Scenarios that exist, a sensible number of retained records."""
    cls = case.cls
    known = bool(cls.scenarios) and set(cls.scenarios) <= set(SCENARIOS)
    case.owes(known, f"scenarios = {cls.scenarios}, not of {SCENARIOS}.")
    case.owes(cls.few == "all" or (isinstance(cls.few, int) and cls.few > 0), f"few = {cls.few!r}.")


def check_options(case: Case) -> None:
    """Options are frozen and fit for JSON, and the defaults stand by themselves."""
    method = case.method()
    known = {f.name for f in fields(case.cls)}
    case.owes(set(json.loads(json.dumps(method.options()))) == known, "options() does not name every option.")
    case.cls()
    try:
        method.seed = 1  # type: ignore[misc]
    except FrozenInstanceError:
        return
    case.owes(False, "the dataclass is not frozen.")
