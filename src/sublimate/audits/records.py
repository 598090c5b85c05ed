"""Named records: does the erased network treat each like one of its class that it never saw?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ..canaries import PREFIX
from ..errors import UnlearningFailed
from ..inference import confidence, predict
from ..splits import Part, Split

ENOUGH = 20  # never-seen records of a class that make a distribution
EXPECTED = 0.1  # share of never-seen records that lie outside their own 5-95 % range


@dataclass(frozen=True)
class Standing:
    """φ of one record, and the range in which the middle 90 % of never-seen records of its class lie."""

    id: str
    phi: float
    low: float
    high: float

    @property
    def outside(self) -> float:
        """How far outside the range; 0 inside, positive above (a trace), negative below (a scar).

        >>> Standing("7", 9.0, 1.0, 8.0).outside
        1.0
        """
        return max(self.phi - self.high, 0.0) + min(self.phi - self.low, 0.0)


def standings(model: nn.Module, split: Split) -> list[Standing]:
    """Where each forgotten record stands among never-seen ones (`control`) of its class."""
    seen = Part(split.data, split.control, "control")
    phi = confidence(predict(model, seen), seen.labels)
    mine = confidence(predict(model, split.forget_set), split.forget_set.labels)
    found = []
    for row, label, value in zip(split.forget, split.forget_set.labels, mine, strict=True):
        own = phi[seen.labels == label]
        low, high = torch.quantile(own if len(own) >= ENOUGH else phi, torch.tensor([0.05, 0.95], dtype=phi.dtype))
        found.append(Standing(split.data.ids[int(row)], float(value), float(low), float(high)))
    return found


def check_records(model: nn.Module, original: nn.Module, split: Split, most: int = 1000) -> None:
    """For requests of named records: fail, and say by how much, when too many do not look never seen.

    One that the original had below the range, and that was not pushed down, is hard by nature: no trace and no scar.
    Canaries are left out: what they are like is not told by natural records but by their twins.
    """
    if split.request.scenario != "records" or len(split.forget) > most or len(split.control) < ENOUGH:
        return
    pairs = zip(standings(model, split), standings(original, split), strict=True)
    natural = [(now, was) for now, was in pairs if not now.id.startswith(PREFIX)]
    outside = [now for now, was in natural if now.outside > 0 or _scarred(now, was)]
    n = len(natural)
    allowed = EXPECTED * n + 2 * (EXPECTED * (1 - EXPECTED) * n) ** 0.5 if n > 1 else 0  # one record must be inside
    if len(outside) > allowed:
        worst = max(outside, key=lambda s: abs(s.outside))
        raise UnlearningFailed(
            f"{len(outside)} of {n} records do not look never seen: record {worst.id} has confidence {worst.phi:.2f}, "
            f"{abs(worst.outside):.2f} {'above' if worst.outside > 0 else 'below'} the range {worst.low:.2f} to "
            f"{worst.high:.2f} of never-seen records of its class.",
            "Try another --preset, --set lr=… or a larger --few.",
            model,
        )


def _scarred(now: Standing, was: Standing) -> bool:
    """Below the range, and it was not before, or it was pushed down: by its confidence and against the others."""
    return now.outside < min(was.outside, 0) and (was.outside >= 0 or now.phi < was.phi)
