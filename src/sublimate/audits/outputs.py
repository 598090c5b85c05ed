"""What a network says of a part: one pass over the clean images and two views of each, then pure functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from ..data.views import simple
from ..errors import InputRefused
from ..inference import answers, check_width, device_of, looking
from ..randomness import stream
from ..splits import Part

PASSES = 3  # through the network, per image
BATCH = 250
FAR = 1e4  # stands for an infinite logit: a mask may write one, and scores must stay numbers


@dataclass(frozen=True, eq=False)
class Outputs:
    """Logits of clean images `z` and of two views `v1`, `v2`, with the labels."""

    z: Tensor
    v1: Tensor
    v2: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, keep: Tensor) -> Outputs:
        """The rows that `keep` marks or names."""
        return Outputs(self.z[keep], self.v1[keep], self.v2[keep], self.labels[keep])


def bounded(z: Tensor) -> Tensor:
    """Logits without infinities, which a mask may write.

    >>> bounded(torch.tensor([1.0, -torch.inf])).tolist()
    [1.0, -10000.0]
    """
    return z.nan_to_num(nan=torch.nan, posinf=FAR, neginf=-FAR)


def collect(model: nn.Module, part: Part, seed: int, tick: Callable[[int], None] | None = None) -> Outputs:
    """Read every row once; the views depend on the seed, the part and the place of the row."""
    device, view = device_of(model), partial(simple, flip=part.data.flip)
    found = list[Tensor]()
    with looking(model):
        for start, rows in enumerate(part.rows.split(BATCH)):
            x = part.data.read(rows)[0]
            g = stream(seed, "audit", part.name, start)
            seen = torch.cat([x, view(x, g), view(x, g)]).to(device)
            z = bounded(check_width(answers(model, part, seen), part).float().cpu())
            _check_numbers(z, part)
            found.append(z.unflatten(0, (PASSES, len(rows))))
            if tick:
                tick(PASSES * len(rows))
    z, v1, v2 = torch.cat(found, 1).clone() if found else torch.empty(PASSES, 0, len(part.data.classes))
    return Outputs(z, v1, v2, part.labels)


def _check_numbers(z: Tensor, part: Part) -> None:
    if bool(z.isnan().any()):
        raise InputRefused(
            f"Some answers to {part.name} records are not a number.", "Check that the network's outputs are finite."
        )
