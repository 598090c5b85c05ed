"""What a page draws: how confidence is spread, and what an attacker finds at each rate of false alarms."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .harm import Parts
from .outputs import Outputs
from .signals import SIGNALS
from .tails import by_class

BINS = 40
RATES = 10 ** torch.linspace(-3, 0, 61, dtype=torch.double)  # of false alarms, even on a log scale


def curves(before: Parts, after: Parts) -> dict[str, Any]:
    """Histograms of φ for forgotten and never-seen records of the same classes, and ROC curves, before and after.

    The ROC curves are those of the tests: each record by its place among those of its class.
    """
    phi = {when: _phi(out["forget"], out["control"]) for when, out in (("before", before), ("after", after))}
    edges = _edges(torch.cat([x for pair in phi.values() for x in pair]))
    places = {when: by_class(out["forget"], out["control"]) for when, out in (("before", before), ("after", after))}
    return {
        "edges": _short(edges),
        "shares": {
            f"{group} {when}": _short(_shares(x, edges))
            for when, pair in phi.items()
            for group, x in zip(("forgotten", "never seen"), pair, strict=True)
        },
        "false alarms": _short(RATES),
        "found": {when: _short(roc(*pair, RATES)) for when, pair in places.items()},
    }


def roc(forget: Tensor, control: Tensor, rates: Tensor) -> Tensor:
    """Share of the forgotten records above the threshold that so many never-seen ones exceed.

    >>> roc(torch.tensor([3.0, 1.0]), torch.tensor([0.0, 2.0]), torch.tensor([0.0, 0.5, 1.0]))
    tensor([0.5000, 1.0000, 1.0000])
    """
    ordered = control.sort(descending=True).values
    allowed = (rates * len(control) + 1e-9).floor().long()  # .29 · 100 is 28.999…
    padded = torch.cat([ordered, torch.tensor([-torch.inf], dtype=ordered.dtype)])
    return (forget[None] > padded[allowed][:, None]).float().mean(1)


def _phi(forget: Outputs, control: Outputs) -> tuple[Tensor, Tensor]:
    control = control.where(torch.isin(control.labels, forget.labels))
    phi = SIGNALS["confidence"]
    return phi(forget.z, forget.labels), phi(control.z, control.labels)


def _edges(x: Tensor) -> Tensor:
    """All but the outermost values lie between; an interval also where all are the same."""
    low, high = x.quantile(torch.tensor([0.001, 0.999], dtype=x.dtype)).tolist()
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    return torch.linspace(low, high, BINS + 1, dtype=torch.double)


def _shares(x: Tensor, edges: Tensor) -> Tensor:
    inside = x.double().clamp(float(edges[0]), float(edges[-1]))
    return torch.histogram(inside, edges).hist / len(x)


def _short(values: Tensor) -> list[float]:
    return [round(float(value), 5) for value in values]
