"""Steps that look at a network: all its figures, its distance to Retrain, the audit's verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from ..audits.auditing import audit
from ..audits.classes import by_class, confusion
from ..audits.distances import js
from ..audits.evaluation import parts as parts_of
from ..audits.evaluation import scores
from ..audits.outputs import FAR
from ..audits.result import Audit
from ..inference import auc, auc_by_class, confidence, predict
from ..networks import Network, versions
from ..plan import Context
from ..splits import Part, Split
from .packing import Few, Request, asked_of, device, needed, opened, placed, table
from .steps import run_of

Found = dict[str, Any]
Parts = dict[str, Tensor]


REVISION = "1"  # raised when `look` or `beside` tell other things of the same network


@placed
def look(context: Context, *, on: Request, few: Few) -> Found:
    """Every figure of one network alone, from one pass over each part; and what the run told that made it."""
    network = opened(needed(context), table(on["data"]))
    asked = asked_of(on, network.data, few)
    z, y = outputs(network.model, asked)
    found = asdict(scores(z, y, asked.named_classes)) | {"auc": _trace(z, y, asked)}
    return facts(asked) | {
        "figures": rounded(found),
        "classes": by_class(z["test"], y["test"], asked.data.classes),
        "confusion": confusion(z["test"], y["test"], asked.named_classes, asked.data.classes),
        "run": made_by(network),
    }


@placed
def audited(context: Context, *, on: Request, network: str, original: str, sample: int, seed: int) -> Found:
    """The verdict of tier 1, and the AUC of the confidence; `network` and `original` name what is needed."""
    return _verdict(_audit(context, on, network, original, sample=sample, seed=seed))


@placed
def examined(
    context: Context, *, on: Request, network: str, original: str, reference: str, sample: int, seed: int
) -> list[Found]:
    """The verdicts of both tiers; the reference is another Retrain than the one that may be audited."""
    beside = opened(needed(context, reference), table(on["data"])).model
    both = (
        _audit(context, on, network, original, sample=sample, seed=seed, tier=tier, reference=beside) for tier in (1, 2)
    )
    return [_verdict(found) | {"telling": [t.name for t in found.tests if t.outcome == "different"]} for found in both]


def _audit(context: Context, on: Request, network: str, original: str, **options: Any) -> Audit:
    data = table(on["data"])
    erased, before = (opened(needed(context, name), data) for name in (network, original))
    return audit(erased.model, original=before.model, split=asked_of(on, erased.data), **options)


def _verdict(found: Audit) -> Found:
    main = next((test for test in found.tests if test.name == "AUC, confidence"), None)
    interval = {"auc": main.value, "low": main.low, "high": main.high} if main else {}
    return {"verdict": found.verdict, "tier": found.tier, "reasons": found.reasons} | rounded(interval)


@placed
def beside(context: Context, *, on: Request, network: str, reference: str) -> Found:
    """Mean Jensen–Shannon divergence between what a network and Retrain say of the forgotten records."""
    data = table(on["data"])
    asked = asked_of(on, data)
    p, q = (
        logits(opened(needed(context, name), data).model, asked.forget_set).double().softmax(1)
        for name in (network, reference)
    )
    return rounded({"js": float(js(p, q).mean())})


def outputs(model: nn.Module, asked: Split, sample: int | None = None) -> tuple[Parts, Parts]:
    """Logits and labels of retained, forgotten and test records, at most `sample` of each."""
    parts = parts_of(asked, sample)
    return {part.name: logits(model, part) for part in parts}, {part.name: part.labels for part in parts}


def logits(model: nn.Module, part: Part) -> Tensor:
    """Logits that are numbers: a network that was ruined on the way is shown as it is, and stops nothing."""
    return predict(model, part).nan_to_num(nan=0.0, posinf=FAR, neginf=-FAR)


def facts(asked: Split) -> Found:
    """Which split, how many records, which versions, on what device: of every row."""
    names = ("forget", "retain", "few", "control")
    n = {name: len(getattr(asked, name)) for name in names} | {"test": len(asked.data.test)}
    return {"split": asked.fingerprint, "n": n, "versions": versions(), "device": device()}


def rounded(found: Mapping[str, float | None]) -> Found:
    """Figures to six decimals: more are noise."""
    return {name: None if value is None else round(value, 6) for name, value in found.items()}


def _trace(z: Parts, y: Parts, asked: Split) -> float | None:
    """AUC of φ, forgotten against control; within classes where the request names classes."""
    control = torch.isin(asked.data.test, asked.control)
    if not bool(control.any()):
        return None
    mine, others = confidence(z["forget"], y["forget"]), confidence(z["test"][control], y["test"][control])
    if asked.named_classes is None:
        return auc(mine, others)
    return auc_by_class(mine, y["forget"], others, y["test"][control])


def made_by(network: Network) -> Found:
    """What the run told that made a network; of a training, its recipe."""
    meta = network.checkpoint.meta
    return dict(run_of(network)) or ({"recipe": dict(meta.recipe)} if meta else {})
