"""Problems that a network learns by heart: where an audit must be able to tell Original from Retrain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from ..data.core import Data
from ..data.sources import load
from ..randomness import stream
from ..training import Recipe, find_recipe

MODEL = "small-cnn"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Which records of which data, how many labels are wrong, and how it is learned."""

    data: str
    train: int
    test: int
    val: int = 0  # 0: a fifth of the test records
    wrong: float = 0.0
    half: bool = False  # halve the side of the images: a quarter of the time
    epochs: int
    requests: tuple[str, ...]


PROBLEMS = {
    "digits": Problem(
        data="digits",
        train=1000,
        test=737,
        val=60,
        wrong=0.1,
        epochs=120,
        requests=("random@75%", "class:0,1,2,3,4,5,6"),  # fewer classes have too few never-seen records for a PASS
    ),
    "cifar": Problem(data="cifar10", train=10_000, test=10_000, half=True, epochs=60, requests=("random@50%",)),
}


def table(problem: Problem, seed: int) -> Data:
    """A seeded draw of the records; wrong labels are as frequent among never-seen records as among learned ones."""
    whole = load(problem.data)
    order = torch.randperm(len(whole.labels), generator=stream(seed, "records"))
    if problem.data != "digits":  # the data's own test part is never trained on
        trained = whole.train[torch.randperm(len(whole.train), generator=stream(seed, "records"))]
        order = torch.cat([trained[: problem.train], whole.test])
    rows = order[: problem.train + problem.test + problem.val]
    x, y = whole.read(rows)
    g = stream(seed, "wrong")
    wrong = torch.rand(len(y), generator=g) < problem.wrong
    shift = torch.randint(1, len(whole.classes), y.shape, generator=g)
    return Data(
        name=f"{problem.data} {seed}",
        images=x[:, :, ::2, ::2].contiguous() if problem.half else x,
        labels=torch.where(wrong, (y + shift) % len(whole.classes), y),
        sizes=(problem.train, problem.test, problem.val),
        classes=whole.classes,
        mean=whole.mean,
        std=whole.std,
        flip=False,
    )


def recipe(problem: Problem) -> Recipe:
    """Without views and with little decay: by heart."""
    return replace(find_recipe("fast", epochs=problem.epochs, views="none"), weight_decay=1e-4)
