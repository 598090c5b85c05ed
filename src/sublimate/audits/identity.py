"""With the weights in hand: what was never changed at all?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .whitebox import linear_layers


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Which tensors (batch-norm statistics included) and how many numbers are bit-identical to the original's."""

    same: tuple[str, ...]
    changed: tuple[str, ...]  # or gone
    head: tuple[str, ...]  # tensors of the original's last linear layer
    numbers: int
    numbers_same: int

    @property
    def untouched(self) -> bool:
        """All tensors are identical: the network differs by a wrapper (say, a logit mask) or not at all."""
        return not self.changed

    @property
    def last_layer_only(self) -> bool:
        """Something changed, and all of it in the last linear layer."""
        return bool(self.changed) and set(self.changed) <= set(self.head)


def identical(model: nn.Module, original: nn.Module) -> Identity:
    """Compare with the original, tensor by tensor; a wrapper may have put a prefix before the names."""
    mine, theirs = (
        {name: tensor for name, tensor in network.state_dict().items() if isinstance(tensor, Tensor)}
        for network in (model, original)
    )
    prefix = _prefix(list(mine), list(theirs))
    equal = {name: _equal_numbers(mine.get(prefix + name), tensor) for name, tensor in theirs.items()}
    head = {f"{name}.{kind}".lstrip(".") for name, _ in linear_layers(original)[-1:] for kind in ("weight", "bias")}
    return Identity(
        same=tuple(name for name in theirs if equal[name] == theirs[name].numel()),
        changed=tuple(name for name in theirs if equal[name] < theirs[name].numel()),
        head=tuple(name for name in theirs if name in head),
        numbers=sum(tensor.numel() for tensor in theirs.values()),
        numbers_same=sum(equal.values()),
    )


def _prefix(mine: list[str], theirs: list[str]) -> str:
    """What stands before the names of the original in those of the network: the prefix that fits most of them."""
    possible = ["", *(name.removesuffix(theirs[0]) for name in mine if name.endswith(f".{theirs[0]}"))]
    return max(possible, key=lambda prefix: sum(prefix + name in mine for name in theirs))


def _equal_numbers(mine: Tensor | None, theirs: Tensor) -> int:
    """How many numbers have the same bits in the same place; none where type or shape differ."""
    if mine is None or mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        return 0
    bits = [tensor.detach().cpu().reshape(-1, 1).contiguous().view(torch.uint8) for tensor in (mine, theirs)]
    return int((bits[0] == bits[1]).all(1).sum())
