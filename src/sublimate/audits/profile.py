"""Whole classes: which of the classes that stay does a network see in images of a class that is gone?

A network that never knew cats takes them for dogs; one whose labels were shuffled takes them for anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..inference import predict
from ..randomness import stream
from ..splits import Part, Split
from .distances import js


@dataclass(frozen=True)
class Divergence:
    """Jensen-Shannon divergence of two profiles in nats, with the 2.5 and 97.5 % quantiles of its bootstrap.

    It is never below 0 and its bootstrap lies high, so an interval says something only beside that of a yardstick.
    """

    js: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Profile:
    """How one forgotten class is seen: mean probabilities over the classes that stay, and how far they differ."""

    name: str
    n: int  # never-seen images of the class
    classes: tuple[str, ...]  # that stay
    erased: Tensor
    retrained: Tensor
    divergence: Divergence  # erased against Retrain, on the same images
    halves: Divergence  # yardstick: Retrain against itself, on one half of the images and on the other
    seeds: Divergence | None  # yardstick: two Retrain networks, on the same images


def forgotten_classes(split: Split) -> Tensor:
    """Numbers of the classes of which no training record is kept."""
    labels = split.data.labels
    gone: Tensor = labels[split.forget].unique()
    return gone[~torch.isin(gone, labels[split.retain])]


def profiles(
    model: nn.Module,
    retrained: nn.Module,
    split: Split,
    *,
    another: nn.Module | None = None,
    seed: int = 0,
    resamples: int = 1000,
) -> tuple[Profile, ...]:
    """One profile for each wholly forgotten class with at least two control records; `another` is a second Retrain."""
    kept = split.data.labels[split.retain].unique()
    control = Part(split.data, split.control, "control")
    found = []
    for k in forgotten_classes(split):
        images = control.where(control.labels == k)
        if len(images) < 2:
            continue
        mine, theirs, third = (
            None if network is None else predict(network, images).double()[:, kept].softmax(1)  # renormalised
            for network in (model, retrained, another)
        )
        assert mine is not None and theirs is not None
        place = seed, "profile", int(k)
        found.append(
            Profile(
                name=split.data.classes[int(k)],
                n=len(images),
                classes=tuple(split.data.classes[int(c)] for c in kept),
                erased=mine.mean(0),
                retrained=theirs.mean(0),
                divergence=divergence(mine, theirs, resamples, stream(*place, "retrained")),
                halves=halves(theirs, resamples, stream(*place, "halves")),
                seeds=None if third is None else divergence(theirs, third, resamples, stream(*place, "seeds")),
            )
        )
    return tuple(found)


def divergence(p: Tensor, q: Tensor, resamples: int, generator: torch.Generator) -> Divergence:
    """JS of the mean rows of two networks; each resample draws the same images for both."""
    drawn = _weights(len(p), resamples, generator)
    return _interval(p.mean(0), q.mean(0), drawn @ p, drawn @ q)


def halves(p: Tensor, resamples: int, generator: torch.Generator) -> Divergence:
    """JS of the mean rows of two random halves; each is resampled by itself."""
    order = torch.randperm(len(p), generator=generator)
    one, two = p[order[: len(p) // 2]], p[order[len(p) // 2 :]]
    drawn = [_weights(len(half), resamples, generator) @ half for half in (one, two)]
    return _interval(one.mean(0), two.mean(0), *drawn)


def _weights(n: int, resamples: int, generator: torch.Generator) -> Tensor:
    """[resamples, n]: how often each record is drawn, as a share."""
    drawn = torch.randint(n, (resamples, n), generator=generator)
    ones = torch.full((resamples, n), 1 / n, dtype=torch.double)
    return torch.zeros(resamples, n, dtype=torch.double).scatter_add_(1, drawn, ones)


def _interval(p: Tensor, q: Tensor, p_drawn: Tensor, q_drawn: Tensor) -> Divergence:
    ends = torch.tensor([0.025, 0.975], dtype=torch.double)
    low, high = js(p_drawn, q_drawn).quantile(ends).tolist()
    return Divergence(float(js(p[None], q[None])), low, high)
