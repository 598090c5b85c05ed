"""Canaries: planted records that a network can only learn by heart; half are trained on, and a coin says which.

They come in pairs of one kind and one label.  A fair coin per pair puts one in and leaves its twin out, so a network
that has forgotten the one cannot tell it from the other: each pair is one honest guess for an attacker.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from .data.canary_images import noise, patchwork
from .data.core import Data
from .data.inserting import with_training_rows
from .errors import InputRefused
from .randomness import stream
from .splits import Part

PREFIX = "canary-"


@dataclass(frozen=True, kw_only=True, eq=False)
class Canaries:
    """All canaries, twins side by side; made again from the data, their number and the seed."""

    images: Tensor  # as stored: before views and normalisation
    labels: Tensor
    inside: Tensor  # true: trained on
    seed: int

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of those that are trained on, as a request names them."""
        return names(self.inside)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the file of a network says about its canaries."""
        digest = hashlib.sha256()
        for tensor in (self.images, self.labels, self.inside):
            digest.update(tensor.contiguous().numpy().tobytes())
        return {"n": len(self.labels), "seed": self.seed, "digest": digest.hexdigest()[:16]}


def names(chosen: Tensor) -> tuple[str, ...]:
    """Ids of the chosen canaries.

    >>> names(torch.tensor([True, False, True]))
    ('canary-0001', 'canary-0003')
    """
    return tuple(f"{PREFIX}{int(number) + 1:04d}" for number in chosen.nonzero())


def is_canary(name: str) -> bool:
    """Whether an id is one that canaries get.

    >>> is_canary("canary-0001"), is_canary("canary-islands/0001.png")
    (True, False)
    """
    return re.fullmatch(rf"{PREFIX}\d{{4,}}", name) is not None


def plant(data: Data, n: int, seed: int) -> tuple[Data, Canaries]:
    """Add half of `n` seeded canaries to the training rows; the other half stays out of the table.

    The given data stays as it is.  Data that holds these very canaries already comes back unchanged.

    >>> from sublimate.data import load
    >>> data, canaries = plant(load("digits"), 4, seed=0)
    >>> data.sizes, len(canaries.ids), data.ids[-2:] == canaries.ids
    ((1439, 360, 0), 2, True)
    """
    canaries, natural = _make(data, n, seed), _natural(data)
    x, y = canaries.images[canaries.inside], canaries.labels[canaries.inside]
    if natural == data.sizes[0]:
        return with_training_rows(data, x, y, canaries.ids, canaries.facts["digest"]), canaries
    if data.ids[natural:] != canaries.ids or not _equal(data.read(data.train[natural:]), (x, y)):
        raise InputRefused(
            f"{data.name} holds records named {PREFIX}…, which are not the {n} canaries of seed {seed}.",
            "Give the data without them.",
        )
    return data, canaries


def canary_parts(data: Data, n: int, seed: int) -> tuple[Part, Part]:
    """The canaries that were trained on and those that were not; row i of the one is the twin of row i of the other."""
    planted, canaries = plant(data, n, seed)
    inside = Part(planted, torch.arange(planted.sizes[0] - n // 2, planted.sizes[0]), "canaries in")
    out = ~canaries.inside
    aside = replace(
        planted,
        name=f"canaries of {data.name}",
        images=canaries.images[out],
        labels=canaries.labels[out],
        sizes=(n // 2, 0, 0),
        ids=names(out),
        class_counts=None,
        content=None,
    )
    return inside, Part(aside, aside.train, "canaries out")


def replant(data: Data, facts: dict[str, Any]) -> Data:
    """The training table of a network whose file says `facts` of its canaries."""
    n, seed = facts.get("n"), facts.get("seed")
    if not isinstance(n, int) or not isinstance(seed, int):
        raise InputRefused("The file describes its canaries wrongly.", "Train the network again.")
    planted, canaries = plant(data, n, seed)
    if canaries.facts != facts:
        raise InputRefused(
            f"The canaries cannot be made again from {data.name}: its records are not those of the training.",
            "Give the data that the network was trained on.",
        )
    return planted


def _natural(data: Data) -> int:
    """Training rows that are no canaries; canaries come last."""
    return sum(not is_canary(name) for name in data.ids)


def _make(data: Data, n: int, seed: int) -> Canaries:
    natural = _natural(data)
    if n < 2 or n % 2 or n > natural:
        raise InputRefused(f"{n} canaries cannot be halved and hidden.", f"Give an even number from 2 to {natural}.")
    present = data.labels[:natural].unique()
    if len(present) < 2:
        raise InputRefused(f"All training records of {data.name} are of one class.", "Canaries need at least two.")
    pools = {int(k): (data.labels[:natural] == k).nonzero().flatten() for k in present}
    kinds = (partial(patchwork, data, pools), noise(data, natural))  # by turns, pair by pair
    generators = [stream(seed, "canaries", "pair", pair) for pair in range(n // 2)]
    labels = [int(present[torch.randint(len(present), (), generator=g)]) for g in generators]
    images = [kinds[pair % 2](labels[pair], g) for pair, g in enumerate(generators) for _ in range(2)]
    coins = torch.stack([torch.randint(2, (), generator=stream(seed, "canaries", "coin", i)) for i in range(n // 2)])
    return Canaries(
        images=torch.stack(images),
        labels=torch.tensor(labels).repeat_interleave(2).to(data.labels.dtype),
        inside=torch.stack([coins == 0, coins == 1], 1).flatten(),
        seed=seed,
    )


def _equal(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
