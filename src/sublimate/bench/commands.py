"""What a person types to get the network of a row."""

from __future__ import annotations

import json
import shlex
from typing import Any

from .making import Bed, Values
from .schema import Case


def command(bed: Bed, values: Values) -> str:
    """The command, or two of them joined by &&: train an original, then erase from it.

    >>> from pathlib import Path
    >>> case = Case(data="digits", request="class:3", model="small-cnn", recipe="fast", views="none", few=300)
    >>> retrain = Values(name="retrain", preset="auto", options={}, few="all")
    >>> print(command(Bed(case=case, seed=1, folder=Path()), retrain).replace(" --", chr(10) + "--"))
    sublimate train
    --data digits
    --model small-cnn
    --recipe fast
    --views none
    --seed 1
    --threads 1
    --forget class:3
    --out retrain.safetensors
    """
    if values.name == "retrain":
        return _train(bed, forget=bed.case.request, out="retrain.safetensors")
    original = bed.case.original or "original.safetensors"
    before = [] if bed.case.original else [_train(bed, out=original)]
    if values.name == "original":
        return before[0] if before else shlex.join(["sublimate", "evaluate", "--model", original, *_asked(bed)])
    return " && ".join([*before, _erase(bed, values, original)])


def _train(bed: Bed, **more: str) -> str:
    case = bed.case
    epochs = {} if case.epochs is None else {"epochs": case.epochs}
    options = {"data": case.data, "model": case.model, "recipe": case.recipe, "views": case.views, **epochs}
    return _said("train", options | {"seed": bed.seeds["train"], "threads": bed.threads} | more)


def _erase(bed: Bed, values: Values, original: str) -> str:
    case: Case = bed.case
    options = {"model": original, "data": case.data, "forget": case.request, "method": values.name}
    options |= {"preset": values.preset, "few": str(values.few), "seed": str(bed.seed), "threads": str(bed.threads)}
    sets = bed.run(values)["options"]
    told = [word for name, value in sets.items() for word in ("--set", f"{name}={_text(value)}")]
    return f"{_said('erase', options)} {shlex.join(told)} --out erased.safetensors"


def _asked(bed: Bed) -> list[str]:
    return ["--data", bed.case.data, "--forget", bed.case.request, "--seed", str(bed.seed)]


def _said(verb: str, options: dict[str, Any]) -> str:
    words = (word for name, value in options.items() for word in (f"--{name}", str(value)))
    return shlex.join(["sublimate", verb, *words])


def _text(value: object) -> str:
    """As `--set` reads it: TOML."""
    return value if isinstance(value, str) else json.dumps(value)
