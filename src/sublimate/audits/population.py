"""Tier 1: as a crowd, do forgotten records look like records that the network never saw?  In both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..randomness import stream
from .intervals import Interval, auc_interval
from .outputs import Outputs
from .result import Outcome, Test
from .signals import SIGNALS, view_agreement
from .statistics import difference, holm, tost

ALPHA = 0.05
SURE = 0.01  # for what is judged beside the main tests, so that false alarms stay rare
Scorer = Callable[[Outputs], Tensor]


def on_clean(signal: Callable[[Tensor, Tensor], Tensor]) -> Scorer:
    """A score of the clean images out of a function of logits and labels."""
    return lambda out: signal(out.z, out.labels)


WATCHED = ("confidence", "loss", "entropy", "margin")
SCORERS: dict[str, Scorer] = {name: on_clean(SIGNALS[name]) for name in WATCHED} | {
    "agreement of views": lambda out: view_agreement(out.v1, out.v2)
}


@dataclass(frozen=True)
class Compared:
    """AUC of forgotten against never-seen records by each score, pairs within a class; p-values of a difference."""

    found: dict[str, Interval]
    p_different: dict[str, float]  # corrected by Holm

    @property
    def excess(self) -> float:
        """How far the most telling score lies above one half."""
        return max(i.value for i in self.found.values()) - 0.5

    @property
    def null_se(self) -> float:
        """Standard error of each AUC if the groups were alike: the same for all scores."""
        return next(iter(self.found.values())).null_se

    def different(self, alpha: float = ALPHA) -> list[str]:
        """Scores by which the groups are shown to differ, most telling first."""
        told = [name for name, p in self.p_different.items() if p < alpha]
        return sorted(told, key=lambda name: -abs(self.found[name].value - 0.5))


def compare(forget: Outputs, control: Outputs, scorers: Mapping[str, Scorer] = SCORERS) -> Compared:
    """All scores of one network; the larger score is the more trained-on look."""
    groups = forget.labels, control.labels
    found = {name: auc_interval(score(forget), score(control), groups=groups) for name, score in scorers.items()}
    return Compared(found, dict(zip(found, holm([difference(i) for i in found.values()]), strict=True)))


def split_control(control: Outputs, seed: int) -> tuple[Outputs, Outputs]:
    """Two halves of each class that differ by chance alone."""
    order = torch.randperm(len(control), generator=stream(seed, "audit", "halves"))
    by_class = order[control.labels[order].argsort(stable=True)]
    return control.where(by_class[0::2]), control.where(by_class[1::2])


def population_tests(compared: Compared, delta: float) -> list[Test]:
    """One test per score: alike where equality within δ is shown, else different where a difference is.

    All scores must be alike for a PASS, so p-values of equality need no correction; those of a difference have one.
    """
    return [_population_test(name, i, compared.p_different[name], delta) for name, i in compared.found.items()]


def _population_test(name: str, i: Interval, p: float, delta: float) -> Test:
    alike = tost(i, delta)
    outcome: Outcome = "alike" if alike < ALPHA else "different" if p < ALPHA else "unresolved"
    return Test(
        name=f"AUC, {name}", tier=1, value=i.value, low=i.low, high=i.high, n_forget=i.n, n_control=i.m,
        p_different=p, p_alike=alike, outcome=outcome,
    )  # fmt: skip
