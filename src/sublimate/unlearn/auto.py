"""`auto`: what works without a person who knows the network.

A short probe finds the learning rate; whole classes get labels only from classes that remain, other records are pushed
until they look never seen; the run stops when that is so and the rest has recovered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import nn

from ..errors import InputRefused, UnlearningFailed
from ..inference import accuracy, confidence, predict
from ..loop import Progress, Saver
from ..splits import Part, Split
from . import method
from .options import check_names
from .siamese import Siamese

RATES = (3e-4, 1e-3, 3e-3, 1e-2)
PROBE = 10  # iterations per rate
BOUND = 300  # iterations at most


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
    if split.val_set is None:
        raise InputRefused(
            "Nothing can be chosen: the data has no test and no validation records.",
            "Give never-seen records (a test part), or use the preset paper.",
        )
    whole = bool((split.ratios[split.forget_set.labels] >= 1).all())
    base = Siamese(**({"permutation": "retained" if whole else "matched", "until": "met"} | dict(options)))
    choices: dict[str, Any] = {"preset": "auto", "permutation": base.permutation, "until": base.until}
    if "epochs" not in options:
        base = replace(base, epochs=-(-BOUND // -(-len(split.forget) // base.batch_size)))
    if "lr" not in options:
        tried = probe(model, split, base, progress, saver, interrupted)
        base = replace(base, lr=best(tried))
        choices |= {"lr": base.lr, "probe": tried}
    return base, choices | {"epochs": base.epochs}
