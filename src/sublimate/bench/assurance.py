"""Can the audit be fooled?  Verdicts on originals, retrained networks and every sabotage of the zoo."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

from torch import nn

from ..audits.auditing import audit
from ..audits.population import on_clean
from ..audits.result import Audit
from ..errors import InputRefused
from ..inference import accuracy, predict
from ..networks import factory
from ..plan import Context
from ..splits import Part, Split, same, split
from ..testing.evidence import Reference
from ..testing.sabotage import ZOO, Sabotage, finetune
from ..training import fit
from .memorised import MODEL, PROBLEMS, Problem, recipe, table

Row = dict[str, Any]
Beside = list[tuple[nn.Module, str]]
"""References with the split that they were trained on."""


def verdicts(context: Context, *, problem: str, request: str, seed: int, sabotaged: bool = True) -> list[Row]:
    """One original and three of its Retrains (one is audited, two are references), at tiers 1 and 2; and the zoo."""
    p = PROBLEMS[problem]
    data = table(p, seed)
    chosen = split(data, request, few=1000, seed=seed)
    original, retrained, *references = (
        fit(factory(MODEL, data), part, recipe(p), seed=s)[0]
        for s, part in enumerate((Part(data, data.train, "train"), *[chosen.retain_set] * 3))
    )
    beside = [(network, chosen.fingerprint) for network in references]
    learned = accuracy(predict(original, Part(data, data.train, "train")), data.labels[data.train])
    about = {"problem": problem, "request": request, "seed": seed, "train accuracy": round(learned, 2)}
    rows = [
        about
        | {"network": name, "tier": tier}
        | _told(audit(m, original=original, split=chosen, tier=tier, seed=seed, reference=beside))
        for name, m in (("original", original), ("retrain", retrained))
        for tier in (1, 2)
    ]
    zoo = _sabotaged(p, original, chosen, beside, seed) if sabotaged else ()
    return rows + [about | row for row in zoo]


def _sabotaged(p: Problem, original: nn.Module, chosen: Split, beside: Beside, seed: int) -> Iterator[Row]:
    for name, sabotage in ZOO.items():
        try:
            told = _told(_fooled(p, sabotage, original, chosen, beside, seed))
        except InputRefused as refusal:  # what is refused was not passed either
            told = {"verdict": "REFUSED", "reasons": [str(refusal)]}
        yield {"network": name, "tier": 2} | told


def _fooled(p: Problem, s: Sabotage, original: nn.Module, chosen: Split, beside: Beside, seed: int) -> Audit:
    """False evidence comes with a network that was merely trained on: the original itself would be told by its bits."""
    options = {"recipe": recipe(p)} if "recipe" in signature(s.make).parameters else {}
    handed = s.make(original, chosen, seed, **options)
    shared: dict[str, Any] = {"original": original, "tier": 2, "seed": seed, "split": chosen, "reference": beside}
    if isinstance(handed, nn.Module):
        return audit(handed, **shared)
    trained_on = finetune(original, chosen, seed)
    if isinstance(handed, Reference):
        same(handed.split, chosen.fingerprint, "The reference")
        return audit(trained_on, **shared | {"reference": (handed.model, handed.split)})
    if isinstance(handed, Split):
        return audit(trained_on, **shared | {"split": handed})
    return audit(trained_on, **shared | {"scorers": {"broken": on_clean(handed)}})


def _told(found: Audit) -> Row:
    telling = [test.name for test in found.tests if test.outcome == "different"]
    return {
        "verdict": found.verdict,
        "reasons": found.reasons[:2],
        "telling": telling,
        "delta": found.delta,
        "n": found.n,
        "auc": next(
            (round(t.value, 4) for t in found.tests if t.name == "AUC, confidence" and t.value is not None), None
        ),
    }
