"""The forgotten records that stand out most, known by a number alone."""

from __future__ import annotations

import torch
from torch import Tensor

from ..inference import placements
from .outputs import Outputs
from .result import Worst
from .signals import SIGNALS

SHOWN = 5


def standing_out(forget: Outputs, control: Outputs) -> Tensor:
    """Of each forgotten record: the share of never-seen records of its class (of all, where there are none) below."""
    mine, theirs = _phi(forget), _phi(control)
    share = torch.empty_like(mine)
    for k in forget.labels.unique():
        rows, own = forget.labels == k, theirs[control.labels == k]
        share[rows] = placements(mine[rows], own if len(own) else theirs)
    return share


def worst_places(forget: Outputs, control: Outputs) -> list[int]:
    """Places of the records that lie furthest out, above or below."""
    phi, share = _phi(forget), standing_out(forget, control)
    # Many lie beyond all never-seen ones: φ decides between them.
    order = sorted(range(len(share)), key=lambda i: (-abs(float(share[i]) - 0.5), -abs(float(phi[i]))))
    return order[:SHOWN]


def worst_records(forget: Outputs, control: Outputs, classes: tuple[str, ...]) -> list[Worst]:
    """Pseudonyms count from 1; who holds the same split can find the records by `worst_places`."""
    phi, share = _phi(forget), standing_out(forget, control)
    return [
        Worst(
            pseudonym=f"record {number}",
            label=classes[int(forget.labels[place])],
            phi=round(float(phi[place]), 3) if phi[place].isfinite() else None,
            share_above=round(1 - float(share[place]), 4),
        )
        for number, place in enumerate(worst_places(forget, control), 1)
    ]


def _phi(out: Outputs) -> Tensor:
    return SIGNALS["confidence"](out.z, out.labels)
