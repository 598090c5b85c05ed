"""Presets: the paper's values, a file's, or what suits this network and this request (`auto`)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from ..errors import InputRefused, UsageError
from ..loop import Progress, Saver
from ..splits import Split
from . import auto as automatic
from . import method
from .base import Unlearner


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
        return automatic.auto(model, split, options, progress, saver, interrupted)
    if preset in ("auto", "paper"):
        return method(name, **options), {"preset": preset}
    return method(name, **(read_preset(Path(preset), name) | dict(options))), {"preset": Path(preset).name}


def read_preset(path: Path, name: str) -> dict[str, Any]:
    """The options in a preset file: a TOML file with `method` and a table `options`."""
    if not path.exists():
        raise UsageError(f"There is no preset {str(path)!r}.", "Give auto, paper or the path of a preset file.")
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputRefused(f"{path} is no preset: {error}.", "Give a TOML file with method and [options].") from None
    if found.get("method", name) != name:
        raise InputRefused(
            f"{path} is a preset of {found['method']}, not of {name}.", f"Give --method {found['method']}."
        )
    return dict(found.get("options", {}))


def plan(name: str, preset: str, options: Mapping[str, Any], split: Split) -> tuple[int, int]:
    """How many images a run reads at most, and how many are in flight at once."""
    if preset == "auto" and name == "siamese":
        batch = int(options.get("batch_size", 128))
        return automatic.plan(split, options), 2 * batch
    chosen = method(
        name, **(options if preset in ("auto", "paper") else read_preset(Path(preset), name) | dict(options))
    )
    own = chosen.options()
    iterations = own["epochs"] * -(-len(split.forget) // own["batch_size"])
    return iterations * 4 * own["batch_size"], 2 * own["batch_size"]
