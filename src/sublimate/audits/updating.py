"""One relearning attack: a few updates of a copy, and what they change in records that it is not shown."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.batches import Batch, Batches, Blank, Meter
from ..errors import InputRefused, UnlearningFailed
from ..inference import answers, confidence, device_of, predict
from ..loop import Loop
from ..models.memory import channels_last
from ..phase import Losses, Measured, Phase
from ..randomness import guarded
from ..splits import Part
from .outputs import bounded

BATCH, MOST_SHOWN = 32, 8  # records of a batch, and how many of them are shown ones at most
ENOUGH_SHOWN = 10  # records of which a network that can learn has learned at least one
LR, MOMENTUM, CLIP = 0.03, 0.9, 1.0  # hidden and never-seen classes part best here; the bound is against divergence
EVERY, WATCHED = 2, 200  # updates from one look at the other forgotten records to the next, and at how many of them


@dataclass(frozen=True, eq=False)
class Standing:
    """What a network says about a group: which records it calls right, and φ of each; and their classes."""

    right: Tensor
    phi: Tensor
    labels: Tensor

    @property
    def accuracy(self) -> float:
        """Right / all, in percent; not a number where there is no record."""
        return 100.0 * float(self.right.double().mean())


@dataclass(frozen=True, kw_only=True, eq=False)
class Attack:
    """One attack with `shown` forgotten records: before and after it, the others of them and control records."""

    shown: int
    updates: int
    others: tuple[Standing, Standing]
    control: tuple[Standing, Standing]
    updates_to_target: int | None  # None: not reached

    @property
    def gain(self) -> float:
        """Points that the other forgotten records gained more than the control records did."""
        others, control = (after.accuracy - before.accuracy for before, after in (self.others, self.control))
        return others - control

    @property
    def images(self) -> int:
        """Images passed forward during the attack and after it."""
        watched = (self.updates // EVERY + 1) * min(WATCHED, len(self.others[0].right))
        return self.updates * BATCH + watched + len(self.others[0].right) + len(self.control[0].right)


@dataclass(frozen=True, eq=False)
class Plan:
    """Who is shown what; the same for all attacks of a comparison."""

    retain: Part
    pool: Part  # forgotten records that may be shown: the first n of them in every attack with n
    others: Part
    control: Part
    updates: int
    seed: int

    def shown(self, count: int) -> Part:
        """The forgotten records that an attack with so many shows."""
        return Part(self.pool.data, self.pool.rows[:count], "forget")


def standings(network: nn.Module, plan: Plan) -> tuple[Standing, Standing]:
    """Of the other forgotten records, and of control records."""
    return standing(network, plan.others), standing(network, plan.control)


def standing(network: nn.Module, part: Part) -> Standing:
    """What the network says about a part."""
    z = bounded(predict(network, part))
    return Standing(z.argmax(1) == part.labels, confidence(z, part.labels), part.labels)


def attack(network: nn.Module, plan: Plan, shown: int, target: float, before: tuple[Standing, Standing]) -> Attack:
    """Update a copy on retained records and `shown` forgotten ones; the network stays as it is."""
    watched = plan.others.sample(WATCHED, plan.seed)

    def watch() -> tuple[Measured, str | None]:
        return {"others": standing(student, watched).accuracy}, None

    with guarded():
        student = channels_last(copy.deepcopy(network))
        for weight in student.parameters():  # an attacker is not bound by what the owner froze
            weight.requires_grad_(weight.is_floating_point())
        loop = Loop(student.train(), plan.seed, Meter(), checks=[{"iteration": 0} | watch()[0]])
        loop.run([replace(_phase(student, plan, shown, loop.meter), watch=watch, every=EVERY)])
    _check_moved(student, network)
    _check_learned(student, plan, shown)
    others, control = zip(before, standings(student, plan), strict=True)
    return Attack(
        shown=shown,
        updates=plan.updates,
        others=others,
        control=control,
        updates_to_target=next((int(c["iteration"]) for c in loop.checks if c["others"] >= target), None),
    )


def _check_moved(student: nn.Module, network: nn.Module) -> None:
    if all(torch.equal(mine, theirs) for mine, theirs in zip(student.parameters(), network.parameters(), strict=True)):
        raise InputRefused(
            "Updates leave the weights of the network as they are.", "Give a network whose weights make its answers."
        )


def _check_learned(student: nn.Module, plan: Plan, shown: int) -> None:
    """What is shown again and again is learned, unless something behind the weights forbids the answer."""
    if shown >= ENOUGH_SHOWN and not bool(standing(student, plan.shown(shown)).right.any()):
        raise UnlearningFailed(
            f"After updates that show {shown} forgotten records, not one of them is called right.",
            "Give a network whose weights alone make its answers.",
        )


def _phase(student: nn.Module, plan: Plan, shown: int, meter: Meter) -> Phase:
    few = min(shown, MOST_SHOWN)
    given = [(plan.retain, BATCH - few), *([(plan.shown(shown), few)] if few else [])]
    how: dict[str, Any] = {"seed": plan.seed, "meter": meter, "device": device_of(student), "cycle": True}
    sources = [Batches(part, size, fill=size, **how) for part, size in given]

    def step(turn: Batch) -> Losses:
        batches = [source.at(turn.t) for source in sources]
        x, y = torch.cat([b.x for b in batches]), torch.cat([b.y for b in batches])
        loss = F.cross_entropy(bounded(answers(student, plan.retain, x)), y)
        if not loss.requires_grad:
            raise InputRefused(
                "The network computes its answers without gradients, so it cannot be updated.",
                "Give a network whose forward does not run under torch.no_grad.",
            )
        return {"ce": loss}

    optimizer = torch.optim.SGD(student.parameters(), lr=LR, momentum=MOMENTUM)
    return Phase(
        name="relearn", over=Blank(plan.updates), epochs=1, steps=(step,), optimizer=optimizer, lr=LR, clip=CLIP
    )
