"""Experiments as data: the built-in ones, and those in files of the user's.  Nothing in a file is executed."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ..errors import InputRefused, UsageError, unknown
from ..files import read_bytes
from .kinds import EDITIONS, EditionName, file_name
from .remarks import Remark
from .schema import Case, Experiment, Method, Setting

__all__ = [
    "EDITIONS",
    "Case",
    "EditionName",
    "Experiment",
    "Method",
    "Setting",
    "find",
    "listed",
    "load",
]

ORDER = (
    "full-class/cifar10",
    "full-class/cifar100",
    "sub-class/cifar10",
    "sub-class/cifar100",
    "random/cifar10",
    "random/cifar100",
    "runtime",
    "ablation/concentration",
    "ablation/terms",
    "ablation/views",
    "analysis/kl",
    "analysis/tsne",
    "trajectory/cifar10",
    "budget/cifar10",
)


@cache
def listed() -> tuple[Experiment, ...]:
    """The built-in experiments: those of the paper, in its order, then ours."""
    folder = files(__package__) / "experiments"
    names = [f"{file_name(name)}.toml" for name in ORDER]
    return tuple(parse((folder / name).read_text(encoding="utf-8"), place=name) for name in names)


def find(name: str) -> list[Experiment]:
    """The experiments of an id, of the first part of one (`ablation`), `all` of them, or the one in a TOML file.

    >>> [experiment.id for experiment in find("analysis")]
    ['analysis/kl', 'analysis/tsne']
    """
    if name.endswith(".toml"):
        from .checks import check  # knows every method, which takes torch to import

        experiment = load(Path(name))
        check(experiment, place=name)
        return [experiment]
    found = [e for e in listed() if name in ("all", e.id, e.id.partition("/")[0])]
    if not found:
        known = ["all", *ORDER, *dict.fromkeys(i.partition("/")[0] for i in ORDER if "/" in i)]
        raise unknown(UsageError, "experiment", [name], known, most=len(known))
    return found


def load(path: Path) -> Experiment:
    """The experiment in one TOML file: its form is checked, not whether its names exist."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError:
        raise InputRefused(f"{path} is not a text file.", "Give a TOML file in UTF-8.") from None
    return parse(text, place=str(path), folder=path.parent)


def parse(text: str, *, place: str, folder: Path | None = None) -> Experiment:
    """The experiment in the text of a TOML file; `place` is how errors call it."""
    try:
        experiment = Experiment.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputRefused(f"{place} is no TOML: {error}.", "Correct it at that place.") from None
    except ValidationError as error:
        raise _refusal(place, error) from None
    experiment._text, experiment._folder = text, folder or Path()
    return experiment


def _refusal(place: str, error: ValidationError) -> InputRefused:
    first = error.errors()[0]
    key = _key(first["loc"])
    if first["type"] == "extra_forbidden":
        above = first["loc"][:-1]
        return InputRefused(f"{place}: there is no key {key}.", f"Allowed there: {', '.join(_allowed(above))}.")
    if first["type"] == "missing":
        return InputRefused(f"{place}: the key {key} is missing.", "Add it.")
    message = first["msg"].removeprefix("Value error, ")
    return InputRefused(f"{place}: {key or 'the file'} does not fit.", f"{message[:1].upper()}{message[1:]}.")


def _key(loc: tuple[int | str, ...]) -> str:
    """A place in the file as people count.

    >>> _key(("settings", 0, "paper", "few"))
    'settings[1].paper.few'
    """
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _allowed(loc: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = Experiment
    if loc:
        models: dict[Any, type[BaseModel]] = {"methods": Method, "remarks": Remark}
        model = models.get(loc[0], Case if len(loc) > 2 else Setting)
    return [field.alias or name for name, field in model.model_fields.items()]
