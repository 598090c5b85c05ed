"""What a step depends on beside its parameters: the code, the values behind names, the content of the user's data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .. import training
from ..audits import auditing, evaluation
from ..data.sources import SOURCES
from ..unlearn import find
from ..unlearn import method as make
from ..unlearn.auto import RULES
from . import analysis, curves, dispersion, steps
from .packing import table

REVISIONS: dict[Callable[..., Any], str] = {  # of the code behind a step; that of a method is its own
    steps.train: training.REVISION,
    analysis.look: f"{evaluation.REVISION}.{analysis.REVISION}",
    analysis.beside: analysis.REVISION,
    analysis.audited: auditing.REVISION,
    analysis.examined: auditing.REVISION,
    curves.sampled: evaluation.REVISION,
    curves.curve: evaluation.REVISION,
    dispersion.divergence: dispersion.REVISION,
    dispersion.embedded: dispersion.REVISION,
}


def version(function: Callable[..., Any], parameters: Mapping[str, Any], data: str, method: str = "") -> str:
    """The version of a step on this data; `method` is the one that it runs."""
    found: dict[str, Any] = {"revision": REVISIONS.get(function, "1")}
    if data not in SOURCES:
        found["data"] = table(data).fingerprint
    if function is steps.train:
        changes = {name: parameters[name] for name in ("epochs", "views")}
        found["recipe"] = training.find_recipe(parameters["recipe"], **changes).describe()
    if method:
        found["defaults"] = make(method).options()
        found["rules"] = find(method).revision + (RULES if method == "siamese" else "")
        if parameters["preset"] == "paper" and (authors := find(method).card.authors):
            found["authors"] = dict(authors)
    return json.dumps(found, sort_keys=True)
