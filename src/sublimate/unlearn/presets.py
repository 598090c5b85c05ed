"""Presets: the paper's values, a file's, or what suits this network and this request (`auto`)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from ..errors import InputRefused, UsageError
from ..files import read_bytes
from ..loop import Progress, Saver
from ..records import check_records
from ..request import FullClass, Request
from ..splits import Split
from . import find, method
from .auto import BOUND, PROBE, RATES, auto, check_choosable
from .base import Unlearner
from .checks import check_job, check_support
from .siamese import FILL

KNOWN = ("auto", "paper")  # anything else is a file
ENTRIES = ("method", "options", "tuned")  # of a preset file


def serving(name: str, preset: str, options: Mapping[str, Any], request: Request) -> str:
    """The method that serves the request: `auto` leaves all but whole classes to siamese-matched.

    Options belong to a method: who sets some keeps the method that was named.

    >>> from sublimate.request import parse
    >>> serving("siamese", "auto", {}, parse("id:7")), serving("siamese", "auto", {}, parse("class:cat"))
    ('siamese-matched', 'siamese')
    """
    free = preset == "auto" and name == "siamese" and not set(options) - {"seed"}
    return "siamese-matched" if free and not isinstance(request, FullClass) else name


def configure(
    name: str,
    preset: str,
    options: Mapping[str, Any],
    model: nn.Module,
    split: Split,
    progress: Callable[[Progress], None] | None = None,
    saver: Saver | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> tuple[Unlearner, dict[str, Any]]:
    """The method with all its values, and the choices that were made for the user."""
    if preset == "auto" and name == "siamese":
        return auto(model, split, options, progress, saver, interrupted)
    return method(name, **settled(name, preset, options)), {"preset": preset if preset in KNOWN else Path(preset).name}


def settled(name: str, preset: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are set before anything is chosen: by the preset, and by the user, who wins.

    >>> settled("badt", "paper", {"lr": 0.5})
    {'lr': 0.5, 'epochs': 1, 'batch_size': 256, 'tau': 1.0, 'share': 0.3, 'reduction': 'elements'}
    """
    if preset == "auto":
        return dict(options)
    own = find(name).card.authors if preset == "paper" else read_preset(Path(preset), name)
    return dict(own) | dict(options)


def known(name: str, preset: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """All values of a run that stand before it begins: of siamese with auto the given ones, for the rest is chosen.

    >>> known("siamese", "auto", {"lam": 2.0}), known("ssd", "auto", {})["alpha"]
    ({'lam': 2.0}, 'search')
    """
    if preset == "auto" and name == "siamese":
        return dict(options)
    return method(name, **settled(name, preset, options)).options()


def read_preset(path: Path, name: str) -> dict[str, Any]:
    """The options in a preset file: a TOML file with `method` and a table `options`."""
    if not path.is_file():
        raise UsageError(f"There is no preset {str(path)!r}.", "Give auto, paper or the path of a preset file.")
    remedy = "Give a TOML file with method and [options]."
    try:
        found = tomllib.loads(read_bytes(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputRefused(f"{path} is no preset: {error}.", remedy) from None
    if other := sorted(set(found) - set(ENTRIES)):
        raise InputRefused(f"{path} is no preset: {other[0]} is none of {', '.join(ENTRIES)}.", remedy)
    if not isinstance(found.get("options", {} if set(found) == {"method"} else None), dict):
        raise InputRefused(f"{path} is no preset: it has no table of options.", remedy)
    if not isinstance(found.get("method", name), str):
        raise InputRefused(f"{path} is no preset: its method is no text.", remedy)
    if found.get("method", name) != name:
        raise InputRefused(
            f"{path} is a preset of {found['method']}, not of {name}.", f"Give --method {found['method']}."
        )
    return dict(found.get("options", {}))


def check(
    name: str, preset: str, options: Mapping[str, Any], model: nn.Module, split: Split, records: object | None
) -> None:
    """Refuse what a run would refuse before it begins."""
    shares = check_job(model, split.forget_set, split.few_set, split.val_set, split.ratios, [])
    chosen = method(name, **settled(name, preset, options))
    check_support(chosen, split.forget_set, shares, records)
    if chosen.needs_records:
        check_records(records, chosen.name, model, split.data)
    if preset == "auto" and name == "siamese":
        check_choosable(split)


def reads_retained(name: str, preset: str, options: Mapping[str, Any], split: Split) -> bool:
    """Whether a run reads any of the retained records that it may read."""
    chosen = method(name, **settled(name, preset, options))
    return chosen.reads(len(split.forget), len(split.few)).get("retain", 0) > 0


def plan(name: str, preset: str, options: Mapping[str, Any], split: Split) -> tuple[int, int]:
    """How many images a run passes through the network at most, and how many are in flight at once."""
    chosen = method(name, **settled(name, preset, options))
    batch = int(chosen.options().get("batch_size", 1))
    if name != "siamese":
        return chosen.makes() + sum(chosen.reads(len(split.forget), len(split.few)).values()), batch
    own = chosen.options()
    iterations = own["epochs"] * -(-len(split.forget) // batch)
    if preset == "auto" and "epochs" not in options:
        iterations = BOUND + -(-len(split.forget) // batch)  # the last epoch is finished
    if preset == "auto" and "lr" not in options:
        iterations += PROBE * len(RATES)
    return iterations * 2 * (min(batch, len(split.few)) + max(FILL, min(batch, len(split.forget)))), 2 * batch
