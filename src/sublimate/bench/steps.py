"""The steps of an experiment: train, unlearn, score.  Each depends on its parameters and its needs alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from torch import nn

from ..audits.evaluation import evaluate
from ..checkpoint import save_checkpoint
from ..data.core import Data
from ..data.sources import load
from ..errors import IntegrityError, UnlearningFailed
from ..files import read_bytes, sha256
from ..inference import auc, auc_by_class, confidence, predict
from ..networks import Network, describe, factory, open_network
from ..pipeline import Result, erase_split, train_recorded
from ..plan import Context
from ..splits import Part, Split, split
from ..training import find_recipe, fit

Request = dict[str, Any]  # data, request, seed: all that a split follows from


@lru_cache(maxsize=2)
def _data(name: str) -> Data:
    return load(name)


def _split(on: Request, data: Data, few: int | Literal["all"] = "all") -> Split:
    return split(data, on["request"], few=few, seed=on["seed"])


def given(context: Context, *, path: str, digest: str) -> bytes:
    """A network that somebody else trained."""
    data = read_bytes(Path(path))
    if sha256(data) != digest:
        raise IntegrityError(f"{path} is not the file that was meant.", "Restore it from a good copy.")
    return data


def train(
    context: Context, *, on: Request, model: str, recipe: str, epochs: int | None, views: str, seed: int, without: bool
) -> bytes:
    """An original; `without` what the request names, it is Retrain."""
    data, chosen = _data(on["data"]), find_recipe(recipe, epochs=epochs, views=views)
    asked = _split(on, data) if without else None
    network, _ = fit(
        factory(model, data),
        Part(data, asked.retain if asked else data.train, "train"),
        chosen,
        seed=seed,
        progress=context.progress,
        saver=context.slot(),
        interrupted=context.interrupted,
    )
    return _packed(network, model, data, split=asked.fingerprint if asked else None)


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
    network = _opened(_only(context), _data(on["data"]))
    asked = _split(on, network.data, few)
    try:
        result = erase_split(
            network.model,
            asked,
            method=method,
            preset=preset,
            options=options,
            evaluated=False,
            progress=context.progress,
            savers=(context.slot("probe"), context.slot()),
            interrupted=context.interrupted,
        )
    except UnlearningFailed as failure:
        return _packed(
            failure.model or network.model, network.architecture, network.data, method={"failed": failure.cause}
        )
    return _packed(result.model, network.architecture, network.data, method=_told(result))


def unlearn_recorded(
    context: Context, *, on: Request, method: str, model: str, recipe: str, epochs: int | None, seed: int
) -> bytes:
    """Training that keeps records, and the request thereafter: both in one step, for the records are large."""
    data = _data(on["data"])
    asked = _split(on, data)
    network, records = train_recorded(
        data, model, method=method, watch=on["request"], recipe=recipe, epochs=epochs, seed=seed
    )
    result = erase_split(
        network, asked, method=method, preset="auto", options={"seed": seed}, evaluated=False, records=records
    )
    architecture = f"sisa:5:{model}" if method == "sisa" else model
    return _packed(result.model, architecture, data, method=_told(result))


def score(context: Context, *, on: Request) -> dict[str, Any]:
    """All figures of one network: those of the paper, and forgotten against never-seen `control` records."""
    network = _opened(_only(context), _data(on["data"]))
    asked = _split(on, network.data)
    meta = network.checkpoint.meta
    told = dict(meta.method) if meta and meta.method else {}
    return {"split": asked.fingerprint} | asdict(evaluate(network.model, asked)) | _trace(network.model, asked) | told


def _only(context: Context) -> bytes:
    (needed,) = context.inputs.values()
    return needed


def _trace(model: nn.Module, asked: Split) -> dict[str, float]:
    """AUC of φ, forgotten against control; within classes where the request names classes."""
    control = Part(asked.data, asked.control, "control")
    (phi, y), (other, labels) = (
        (confidence(predict(model, part), part.labels), part.labels) for part in (asked.forget_set, control)
    )
    pooled = asked.named_classes is None
    return {"auc": auc(phi, other) if pooled else auc_by_class(phi, y, other, labels)}


def _told(result: Result) -> dict[str, Any]:
    record = result.record
    return {
        "samples": result.samples,
        "seconds": round(result.seconds, 2),
        "stopped": record.stopped,
        "choices": json.loads(json.dumps(record.choices)),
        "warnings": list(record.warnings),
    }


def _packed(network: nn.Module, architecture: str, data: Data, **facts: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "network.safetensors")
        save_checkpoint(path, network.state_dict(), meta=describe(architecture, data, **facts))
        return read_bytes(path)


def _opened(packed: bytes, data: Data) -> Network:
    with TemporaryDirectory() as folder:
        path = Path(folder, "network.safetensors")
        path.write_bytes(packed)
        return open_network(path, data)
