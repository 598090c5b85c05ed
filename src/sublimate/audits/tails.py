"""Tier 1 beside the crowd: a few records that stand out, and a class that should be unknown but is named."""

from __future__ import annotations

import torch
from torch import Tensor

from ..randomness import stream
from .epsilon import Epsilon, epsilon_bound
from .outputs import Outputs
from .population import SURE
from .proportions import clopper_pearson, tpr_at_fpr
from .result import Test
from .signals import SIGNALS

LOW_RATES = (0.01, 0.001)
NAMED = 0.01  # of its records: what a network that never saw a class may call by it at most


def by_class(forget: Outputs, control: Outputs, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Each record's place by φ among all records of its class, 0 to 1; only classes that both groups show.

    A rank among N is spread evenly over its N-th part of the way, by lot: where records are alike, their places are
    drawn evenly from 0 to 1, however few there are of a class and however the classes are mixed.
    """
    forget, control = (
        one.where(torch.isin(one.labels, other.labels)) for one, other in ((forget, control), (control, forget))
    )
    f, c = (SIGNALS["confidence"](out.z, out.labels) for out in (forget, control))
    place_f, place_c = torch.empty_like(f), torch.empty_like(c)
    for k in control.labels.unique():
        mine, theirs = forget.labels == k, control.labels == k
        places = drawn_places(torch.cat([f[mine], c[theirs]]), stream(seed, "audit", "places", int(k)))
        place_f[mine], place_c[theirs] = places[: int(mine.sum())], places[int(mine.sum()) :]
    return place_f, place_c


def drawn_places(values: Tensor, generator: torch.Generator) -> Tensor:
    """Rank / N of each value, less a part of 1 / N that is drawn; equals stand in an order that is drawn.

    >>> drawn_places(torch.tensor([3.0, 1.0, 2.0]), stream(0)).mul(3).ceil()
    tensor([3., 1., 2.], dtype=torch.float64)
    """
    n = len(values)
    lots = torch.randperm(n, generator=generator)
    rank = torch.empty(n, dtype=torch.double)
    rank[lots[values[lots].argsort(stable=True)]] = torch.arange(1, n + 1, dtype=torch.double)
    return (rank - torch.rand(n, dtype=torch.double, generator=generator)) / n


def tail_tests(forget: Outputs, control: Outputs, seed: int) -> list[Test]:
    """Do a few records stand out although the crowd does not?  By confidence, above and below."""
    f, c = by_class(forget, control, seed)
    tests = [_found_at(rate, f, c, below) for rate in LOW_RATES for below in (False, True)]
    if min(len(f), len(c)) >= 2:
        tests.append(_epsilon_test(epsilon_bound(f, c, SURE, seed)))
    return tests


def _found_at(rate: float, f: Tensor, c: Tensor, below: bool) -> Test:
    hit = tpr_at_fpr(f, c, rate, below=below)
    return Test(
        name=f"found at {rate:.1%} false alarms, {'below' if below else 'above'}", tier=1, value=hit.tpr.value,
        low=hit.tpr.low, high=hit.tpr.high, n_forget=hit.tpr.n, n_control=hit.fpr.n, outcome="reported",
        detail={"false alarms": hit.fpr.value, "false alarms up to": hit.fpr.high},
    )  # fmt: skip


def _epsilon_test(e: Epsilon) -> Test:
    where = "below" if e.below else "above"
    says = f"by confidence an attacker tells records apart as only ε ≥ {e.value:.2g} allows ({where} a threshold)."
    if e.value == 0:
        says = "by confidence no threshold is shown to tell records apart."
    return Test(
        name="ε, lower bound", tier=1, value=e.value, n_forget=e.tpr.n, n_control=e.fpr.n,
        outcome="different" if e.value > 0 else "reported",
        detail={"says": says, "ceiling": e.ceiling, "direction": where, "confidence": 1 - SURE},
    )  # fmt: skip


def class_tests(control: Outputs, gone: Tensor) -> list[Test]:
    """For wholly forgotten classes: a network that never saw them never names one of them."""
    asked = control.where(torch.isin(control.labels, gone))
    if not len(asked):
        return []
    named = clopper_pearson(int(torch.isin(asked.z.argmax(1), gone).sum()), len(asked), 1 - SURE)
    says = f"{named.k} of {named.n} never-seen records of the forgotten classes are still called by a forgotten class"
    return [
        Test(
            name="Class still known", tier=1, value=named.value, low=named.low, high=named.high, n_forget=0,
            n_control=named.n, outcome="different" if named.low > NAMED else "reported",
            detail={"says": f"{says}; a network that never saw the classes names none.", "confidence": 1 - SURE},
        )
    ]  # fmt: skip
