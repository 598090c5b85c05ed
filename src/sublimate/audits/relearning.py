"""Relearning: do a few updates, on retained records or on a few forgotten ones, bring back the OTHER forgotten ones?

What is truly gone has to be learned anew, as by a network that never saw it; what is only hidden comes back at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from ..errors import UnlearningFailed
from ..randomness import stream
from ..splits import Part, Split
from .updating import Attack, Plan, attack, standing, standings

SHOWN = (0, 1, 5, 10, 50)  # forgotten records that the attacker has
UPDATES = 200  # in all, evenly over SHOWN


@dataclass(frozen=True, kw_only=True, eq=False)
class Relearning:
    """All attacks on the erased network, and the same on each Retrain; what was skipped, and why."""

    target: float  # half of the original's accuracy on the other forgotten records, in percent
    erased: tuple[Attack, ...]
    retrained: tuple[tuple[Attack, ...], ...]
    skipped: tuple[str, ...]
    images: int  # passed forward in all of them
    failed: tuple[str, ...] = ()  # attacks on the erased network that could not be carried out, and why


def relearning(
    model: nn.Module,
    original: nn.Module,
    split: Split,
    *,
    retrained: Sequence[nn.Module] = (),
    shown: Sequence[int] = SHOWN,
    updates: int = UPDATES,
    seed: int = 0,
) -> Relearning:
    """Attack copies of the erased network, and of each Retrain, with the same records and updates.

    Shown are at most half of the forgotten records; control are never-seen records of the same classes.
    """
    plan, skipped = _plan(split, max(shown), max(1, updates // len(shown)), seed), list[str]()
    failed = list[str]()
    target = standing(original, plan.others).accuracy / 2
    if too_many := [n for n in shown if n > len(plan.pool)]:
        wanted = ", ".join(map(str, too_many))
        skipped.append(f"{wanted} shown: at most half of the {len(split.forget)} forgotten records can be")
    if not retrained:
        skipped.append("comparison: there is no network at hand that never saw the forgotten records")

    def attacks(network: nn.Module, name: str, noted: list[str]) -> tuple[Attack, ...]:
        before, found = standings(network, plan), list[Attack]()
        for n in sorted(set(shown) - set(too_many)):
            try:
                found.append(attack(network, plan, n, target, before))
            except UnlearningFailed as error:
                noted.append(f"{n} shown to the {name} network: {error.cause}")
        return tuple(found)

    erased = attacks(model, "erased", failed)
    compared = tuple(attacks(network, "retrained", skipped) for network in retrained)
    looked = len(plan.others) + (1 + len(retrained)) * (len(plan.others) + len(plan.control))
    return Relearning(
        target=target,
        erased=erased,
        retrained=compared,
        skipped=tuple(skipped),
        failed=tuple(failed),
        images=looked + sum(one.images for group in (erased, *compared) for one in group),
    )


def _plan(split: Split, most: int, updates: int, seed: int) -> Plan:
    order = split.forget[torch.randperm(len(split.forget), generator=stream(seed, "attack pool"))]
    size = min(most, len(order) // 2)
    pool, others = (Part(split.data, rows, "forget") for rows in (order[:size], order[size:]))
    control = Part(split.data, split.control, "control")
    control = control.where(torch.isin(control.labels, split.forget_set.labels))
    return Plan(split.retain_set, pool, others, control, updates, seed)
