"""`auto`: what works without a person who knows the network.

A short probe finds the learning rate; whole classes get labels only from classes that remain, other records are pushed
until they look never seen; the run stops when that is so and the rest has recovered.  The gradient is clipped: a wrong
label for a record that the network knows by heart gives a gradient that would wreck the rest in the first few steps.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from ..errors import InputRefused, UnlearningFailed
from ..loop import Progress, Saver
from ..splits import Part, Split
from .options import check_names
from .siamese import Siamese

RATES = (1e-3, 3e-3, 1e-2)
PROBE = 8  # iterations per rate
BOUND = 200  # iterations at most
RULES = "3"  # to be raised when other values are chosen
Tried = list[dict[str, Any]]


def auto(
    model: nn.Module,
    split: Split,
    options: Mapping[str, Any],
    progress: Callable[[Progress], None] | None = None,
    saver: Saver | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> tuple[Siamese, dict[str, Any]]:
    """A Siamese run with every value chosen, and what was chosen why; the options given by the user stay."""
    check_names(Siamese, options)
    check_choosable(split)
    whole = bool((split.ratios[split.forget_set.labels] >= 1).all())
    per_pass = -(-len(split.forget) // Siamese(**options).batch_size)
    chosen: dict[str, Any] = {
        "permutation": "retained" if whole else "matched",
        "clip": 1.0,
        "schedule": "cosine",
        "until": "met",
        "epochs": -(-BOUND // per_pass),
        "watch_every": 10 if whole else min(10, 2 * per_pass),  # a single record is forgotten within a few iterations
    }
    chosen = {name: value for name, value in chosen.items() if name not in options}
    base = Siamese(**(chosen | dict(options)))
    if "lr" not in options:
        chosen["probe"] = probe(model, split, base, progress, saver, interrupted)
        chosen["lr"] = best(chosen["probe"], model)
        base = replace(base, lr=chosen["lr"])
    return base, {"preset": "auto"} | chosen


def check_choosable(split: Split) -> None:
    """Refuse a split on which nothing can be chosen."""
    if split.val_set is None:
        raise InputRefused(
            "Nothing can be chosen: the data has no test and no validation records.",
            "Give never-seen records (a test part), or use the preset paper.",
        )


def probe(
    model: nn.Module,
    split: Split,
    base: Siamese,
    progress: Callable[[Progress], None] | None,
    saver: Saver | None,
    interrupted: Callable[[], bool],
) -> Tried:
    """A few iterations at each rate, and what they did to forgotten and to never-seen records."""
    tried: Tried = json.loads((saver.load() if saver else None) or "[]")
    forget = split.forget_set.sample(PROBE * base.batch_size)
    short = replace(base, epochs=-(-PROBE // -(-len(forget) // base.batch_size)), until="met", watch_every=PROBE)
    for lr in RATES[len(tried) :]:
        tried.append({"lr": lr} | _try(replace(short, lr=lr), model, split, forget, progress, interrupted))
        if saver:
            saver.save(json.dumps(tried).encode())
    return tried


def _try(
    method: Siamese,
    model: nn.Module,
    split: Split,
    forget: Part,
    progress: Callable[[Progress], None] | None,
    interrupted: Callable[[], bool],
) -> dict[str, Any]:
    def show(p: Progress) -> None:
        if progress:
            progress(replace(p, phase=f"trying learning rate {method.lr:g}"))

    try:
        outcome = method.run(
            model,
            forget,
            split.few_set,
            ratios=split.ratios,
            val=split.val_set,
            progress=show,
            interrupted=interrupted,
        )
    except UnlearningFailed as failure:
        return {"failed": failure.cause, "samples": sum(failure.samples.values())}
    seen = {name: round(value, 2) for name, value in outcome.record.checks[-1].items()}
    return seen | {"samples": sum(outcome.record.samples.values())}


def best(tried: Tried, model: nn.Module | None = None) -> float:
    """The rate after which most is kept and least is left: accuracy kept, minus accuracy and confidence left.

    >>> best([{"lr": 1e-4, "retained": 90.0, "forgotten": 80.0, "gone": 80.0, "excess": 0.0},
    ...       {"lr": 1e-3, "retained": 85.0, "forgotten": 5.0, "gone": 5.0, "excess": 0.0}])
    0.001
    """
    alive = [t for t in tried if "failed" not in t]
    if not alive:
        raise UnlearningFailed(
            "Every learning rate of the probe ruined the network.",
            "Use --preset paper with --set lr=… of your own.",
            copy.deepcopy(model),
        )
    return float(max(alive, key=lambda t: t["retained"] - t["gone"] - 10 * max(t["excess"], 0))["lr"])
