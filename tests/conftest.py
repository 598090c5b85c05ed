from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sublimate.data.core import Data
from sublimate.splits import Split, split

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True, scope="session")
def _one_thread_and_own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    torch.set_num_threads(1)  # tiny networks: a second thread only waits
    os.environ["SUBLIMATE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    data = SHARED / "data"
    if "SUBLIMATE_DATA" not in os.environ and data.exists():
        os.environ["SUBLIMATE_DATA"] = str(data)


@dataclass
class Toy:
    """A four-class problem a small network learns in a second: a bright quadrant on noise."""

    data: Data
    split: Split
    model: nn.Module


def quadrants(n: int, seed: int, classes: int = 4) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    x = torch.randint(0, 120, (n, 1, 8, 8), generator=g)
    for k in range(classes):
        x[y == k, :, 4 * (k // 2) : 4 * (k // 2) + 4, 4 * (k % 2) : 4 * (k % 2) + 4] += 90
    return x.to(torch.uint8), y


def toy_data(classes: int = 4, n: int = 240) -> Data:
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
        out = model(x)
        logits = out if isinstance(out, Tensor) else out[0] if isinstance(out, tuple) else out.logits
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="session")
def toy() -> Toy:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        data = toy_data()
        return Toy(data, split(data, "class:b", few=60), trained(network(), data))


@pytest.fixture(scope="session")
def pair() -> Toy:
    """The same with two classes."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        data = toy_data(classes=2)
        return Toy(data, split(data, "class:a", few=40), trained(network(2), data))
