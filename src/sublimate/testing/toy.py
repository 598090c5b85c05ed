"""A problem that a small network learns in a second, and networks of odd kinds: what the contract is checked on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from ..data.core import Data
from ..models.outputs import logits as as_logits
from ..splits import Split, split


@dataclass(eq=False)
class Toy:
    """A four-class problem a small network learns in a second: a bright quadrant on noise."""

    data: Data
    split: Split
    model: nn.Module


def quadrants(n: int, seed: int, classes: int = 4) -> tuple[Tensor, Tensor]:
    """Noise with one bright quadrant, whose place is the class."""
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    x = torch.randint(0, 120, (n, 1, 8, 8), generator=g)
    for k in range(classes):
        x[y == k, :, 4 * (k // 2) : 4 * (k // 2) + 4, 4 * (k % 2) : 4 * (k % 2) + 4] += 90
    return x.to(torch.uint8), y


def toy_data(classes: int = 4, n: int = 240) -> Data:
    """`n` training and 120 test images of the classes a, b, c, d (or the first of them)."""
    (x, y), (u, v) = quadrants(n, 0, classes), quadrants(120, 1, classes)
    return Data(
        name="toy",
        images=torch.cat([x, u]),
        labels=torch.cat([y, v]),
        sizes=(n, 120, 0),
        classes=tuple("abcd"[:classes]),
        mean=(0.35,),
        std=(0.25,),
        flip=False,
    )


def network(classes: int = 4) -> nn.Sequential:
    """A convolution, a batch norm and a linear head."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, classes),
    )


def trained(model: nn.Module, data: Data, steps: int = 60) -> nn.Module:
    """Plain training, independent of the package's own loop."""
    x, y = data.read(data.train)
    x = data.normalise(x)
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=0.01)
    model.train()
    for _ in range(steps):
        loss = nn.functional.cross_entropy(as_logits(model(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def toy_problem(classes: int = 4, build: Callable[[], nn.Module] | None = None) -> Toy:
    """Class b of four (or a of two) to forget, 60 (or 40) retained records, a trained network; the same every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        data = toy_data(classes)
        model = trained(build() if build else network(classes), data)
    return Toy(data, split(data, "class:a", few=40) if classes == 2 else split(data, "class:b", few=60), model)


class Answering(nn.Module):
    """A network that wraps its logits in something."""

    def __init__(self, answer: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 4))
        self.answer = answer

    def forward(self, x: Tensor) -> Any:
        """The wrapped logits."""
        return self.answer(self.body(x))


class Tied(nn.Module):
    """Two layers that share one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 4)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Any:
        """Logits."""
        return self.head(self.b(self.a(x.flatten(1)).relu()).relu())


def frozen_start() -> nn.Sequential:
    """A network whose first weight may not move."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
    model[1].weight.requires_grad_(False)
    return model


ZOO: dict[str, Callable[[], nn.Module]] = {
    "logits attribute": lambda: Answering(lambda z: SimpleNamespace(logits=z)),
    "tuple": lambda: Answering(lambda z: (z, z.mean())),
    "dict": lambda: Answering(lambda z: OrderedDict(logits=z)),
    "layer norm": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4)),
    "dropout": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 4)),
    "frozen": frozen_start,
    "tied": Tied,
}
