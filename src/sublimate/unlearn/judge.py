"""How good is a network, judged on never-seen `val` records?  What every line search and `tune` go by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from ..errors import InputRefused
from ..inference import accuracy, auc_by_class, confidence, predict
from ..splits import Part

FORGET_SAMPLE = 1000
AUC_WEIGHT = 200.0  # points: an AUC .05 away from .5 weighs as much as ten points of accuracy
T = TypeVar("T")


@dataclass(frozen=True)
class Judgement:
    """What is kept and what is left, in points; `loss` is the smaller the better."""

    retained: float  # accuracy on never-seen records of the classes that remain
    before: float  # the same of the original
    gone: float  # accuracy on forgotten records of whole classes: a network that never saw them is never right
    auc: float  # other forgotten records against never-seen ones of their class: .5 is like never seen

    @property
    def loss(self) -> float:
        """Accuracy lost, plus what is left of whole classes, plus the trace (or scar) of other records."""
        return max(0.0, self.before - self.retained) + self.gone + AUC_WEIGHT * abs(self.auc - 0.5)


class Judge:
    """Judges networks on one request."""

    def __init__(self, original: nn.Module, forget: Part, val: Part | None, remaining: torch.Tensor) -> None:
        if val is None or not bool(remaining[val.labels].any()):
            raise InputRefused("There are no never-seen records of the classes that remain.", "Give val=….")
        self._forget, self._val = forget.sample(FORGET_SAMPLE), val
        self._whole = ~remaining[self._forget.labels]
        self._kept = remaining[val.labels]
        self._before = self._retained(predict(original, val))

    def __call__(self, model: nn.Module) -> Judgement:
        """Two passes over small parts."""
        y, z, val = self._forget.labels, predict(model, self._forget), predict(model, self._val)
        phi, other = confidence(z, y), confidence(val, self._val.labels)
        rest = ~self._whole
        return Judgement(
            retained=self._retained(val),
            before=self._before,
            gone=accuracy(z[self._whole], y[self._whole]) if bool(self._whole.any()) else 0.0,
            auc=auc_by_class(phi[rest], y[rest], other, self._val.labels) if bool(rest.any()) else 0.5,
        )

    def _retained(self, val: torch.Tensor) -> float:
        return accuracy(val[self._kept], self._val.labels[self._kept])


def best(candidates: Iterable[T], apply: Callable[[T], nn.Module], judge: Judge) -> tuple[T, Judgement]:
    """The candidate whose network is judged best; the earlier one when two are equal."""
    judged = [(candidate, judge(apply(candidate))) for candidate in candidates]
    return min(judged, key=lambda pair: pair[1].loss)
