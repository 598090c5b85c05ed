"""Outputs drawn without a network, and a problem that a small network learns by heart in a second."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from sublimate.audits.outputs import Outputs
from sublimate.data.core import Data
from sublimate.splits import Split, split
from sublimate.testing.toy import quadrants


def drawn(n, seed=0, *, shift=0.0, classes=4, levels=None, labels=None):
    """Logits of n records: noise, the label's own 1 + `shift` higher; with `levels` rounded, so that many tie."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g) if labels is None else torch.as_tensor(labels)
    z = torch.randn(3, len(y), classes, generator=g) * 0.5
    z[1:] += z[0]
    own = (1 + shift) * nn.functional.one_hot(y, classes)
    z = z + own
    return Outputs(*(z if levels is None else (z * levels).round() / levels), y)


def crowd(n, m, seed=0, **how):
    """The parts of one network: n forgotten, m never-seen and 50 retained records."""
    control = drawn(m, 3 * seed + 1, **{k: v for k, v in how.items() if k != "shift"})
    return {
        "forget": drawn(n, 3 * seed, **how),
        "control": control,
        "never": control,
        "retain": drawn(50, 3 * seed + 2, shift=2.0, **{k: v for k, v in how.items() if k == "classes"}),
    }


@pytest.fixture(scope="session")
def draw():
    return drawn


@pytest.fixture(scope="session")
def draw_crowd():
    return crowd


@dataclass(frozen=True, eq=False)
class ByHeart:
    """Bright quadrants of which 3 in 10 are called by another class; 700 of 1400 records to be forgotten."""

    data: Data
    split: Split
    original: nn.Module
    retrained: list[nn.Module]


def table(train=1400, test=1000):
    (x, y), (u, v) = quadrants(train, 0), quadrants(test, 1)
    g = torch.Generator().manual_seed(2)
    labels = torch.cat([y, v])
    wrong = torch.rand(train + test, generator=g) < 0.3
    labels[wrong] = torch.randint(4, (int(wrong.sum()),), generator=g)
    return Data(
        name="by heart", images=torch.cat([x, u]), labels=labels, sizes=(train, test, 0), classes=tuple("abcd"),
        mean=(0.35,), std=(0.25,), flip=False,
    )  # fmt: skip


def learned(data, rows, seed, steps=120):
    """Plain training until every label is known by heart."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
        x, y = data.read(rows)
        x = data.normalise(x)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model.eval()


@pytest.fixture(scope="session")
def by_heart():
    data = table()
    s = split(data, "random@50%")
    retrained = [learned(data, s.retain, seed) for seed in (1, 2, 3)]
    return ByHeart(data, s, learned(data, data.train, 0), retrained)


@pytest.fixture(scope="session")
def learn():
    return learned


@pytest.fixture(scope="session")
def one_class(by_heart):
    """The same network; the request is for class b."""
    s = split(by_heart.data, "class:b")
    return replace(by_heart, split=s, retrained=[learned(by_heart.data, s.retain, seed) for seed in (1, 2, 3)])
