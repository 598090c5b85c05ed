"""The steps that make a network: train, unlearn.  Each depends on its parameters and its needs alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ..errors import IntegrityError, UnlearningFailed
from ..files import read_bytes, sha256
from ..networks import Network, factory
from ..pipeline import Result, erase_split, train_recorded
from ..plan import Context
from ..splits import Part
from ..training import find_recipe, fit
from ..unlearn.presets import known
from .clock import Clock
from .packing import Request, asked_of, device, needed, opened, packed, placed, table


def given(context: Context, *, path: str, digest: str) -> bytes:
    """A network that somebody else trained."""
    data = read_bytes(Path(path))
    if sha256(data) != digest:
        raise IntegrityError(f"{path} is not the file that was meant.", "Restore it from a good copy.")
    return data


@placed
def train(
    context: Context, *, on: Request, model: str, recipe: str, epochs: int | None, views: str, seed: int, without: bool
) -> bytes:
    """An original; `without` what the request names, it is Retrain."""
    data, chosen = table(on["data"]), find_recipe(recipe, epochs=epochs, views=views)
    asked, clock = asked_of(on, data) if without else None, Clock()
    network, _ = fit(
        factory(model, data),
        Part(data, asked.retain if asked else data.train, "train"),
        chosen,
        seed=seed,
        device=device(),
        progress=context.progress,
        saver=clock.over(context.slot("timed run")),
        interrupted=context.interrupted,
    )
    made = chosen.describe() | {"seed": seed, "timing": clock.facts(device())}
    return packed(network, model, data, split=asked.fingerprint if asked else None, recipe=made)


@placed
def unlearn(
    context: Context,
    *,
    on: Request,
    method: str,
    preset: str,
    options: dict[str, Any],
    few: int | Literal["all"],
) -> bytes:
    """What a method leaves of the original; a run that failed is a result too."""
    network = opened(needed(context), table(on["data"]))
    asked, clock = asked_of(on, network.data, few), Clock()
    try:
        result = erase_split(
            network.model,
            asked,
            method=method,
            preset=preset,
            options=options,
            evaluated=False,
            progress=context.progress,
            savers=(clock.over(context.slot("timed probe")), clock.over(context.slot("timed run"))),
            interrupted=context.interrupted,
        )
    except UnlearningFailed as failure:
        stated = known(method, preset, options)
        told = {"failed": failure.cause, "timing": clock.facts(device()), "options": json.loads(json.dumps(stated))}
        return packed(failure.model or network.model, network.architecture, network.data, method=told)
    return packed(result.model, network.architecture, network.data, method=_told(result, clock))


@placed
def unlearn_recorded(
    context: Context,
    *,
    on: Request,
    method: str,
    model: str,
    recipe: str,
    epochs: int | None,
    seed: int,
    options: Mapping[str, Any] | None = None,
) -> bytes:
    """Training that keeps records, and the request thereafter: both in one step, for the records are large."""
    data = table(on["data"])
    asked = asked_of(on, data)
    network, records = train_recorded(
        data, model, method=method, watch=on["request"], recipe=recipe, epochs=epochs, seed=seed
    )
    clock, chosen = Clock(), {"seed": seed, **(options or {})}
    result = erase_split(network, asked, method=method, preset="auto", options=chosen, evaluated=False, records=records)
    architecture = f"sisa:5:{model}" if method == "sisa" else model
    return packed(result.model, architecture, data, method=_told(result, clock))


def run_of(network: Network) -> Mapping[str, Any]:
    """What the run that left this network told of itself."""
    meta = network.checkpoint.meta
    return meta.method if meta and meta.method else {}


def _told(result: Result, clock: Clock) -> dict[str, Any]:
    record = result.record
    told = {
        "samples": result.samples,
        "seconds": round(clock.seconds, 2),
        "stopped": record.stopped,
        "choices": record.choices,
        "warnings": list(record.warnings),
        "timing": clock.facts(device()),
        "read": record.samples,
        "options": dict(record.options),
    }
    plain: dict[str, Any] = json.loads(json.dumps(told))
    return plain
