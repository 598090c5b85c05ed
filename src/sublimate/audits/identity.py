"""With the weights in hand: what was never changed, or so little that it is as it was?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .whitebox import linear_layers

SAME = 1e-4  # ‖Δ‖ / ‖w‖: rounding, another number format or a little noise moves less, any training moves more


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Which tensors are those of the original, and how many numbers have the very same bits."""

    same: tuple[str, ...]
    changed: tuple[str, ...]  # or gone; weights alone, for statistics move when images merely pass
    head: tuple[str, ...]  # tensors of the original's last linear layer
    deep: bool  # whether there are weights before it: where there are none, any training changes it alone
    numbers: int
    numbers_same: int

    @property
    def untouched(self) -> bool:
        """All weights are the original's: the network differs by a wrapper (say, a logit mask) or not at all."""
        return not self.changed

    @property
    def last_layer_only(self) -> bool:
        """Something changed, and all of it in the last linear layer, though there are others."""
        return bool(self.changed) and self.deep and set(self.changed) <= set(self.head)


def identical(model: nn.Module, original: nn.Module, classes: int | None = None) -> Identity:
    """Compare with the original, tensor by tensor; a wrapper may have put a prefix before the names of either."""
    mine, theirs = _tensors(model), _tensors(original)
    found = _found(mine, theirs)
    weights, usual = {name for name, _ in original.named_parameters()}, _usual_size(original)
    close = {name: _close(found.get(name), tensor, usual) for name, tensor in theirs.items()}
    head = _head(original, theirs, classes)
    return Identity(
        same=tuple(name for name in theirs if close[name]),
        changed=tuple(name for name in theirs if name in weights and not close[name]),
        head=head,
        deep=not weights <= set(head),
        numbers=sum(tensor.numel() for tensor in theirs.values()),
        numbers_same=sum(_equal_numbers(found.get(name), tensor) for name, tensor in theirs.items()),
    )


def _tensors(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in network.state_dict().items() if isinstance(tensor, Tensor)}


def _head(original: nn.Module, tensors: Mapping[str, Tensor], classes: int | None) -> tuple[str, ...]:
    """Of the same layer whose input the probes read; whatever it keeps its weight in (say, a norm and a direction)."""
    begins = [f"{name}." if name else "" for name, _ in linear_layers(original, classes)[-1:]]
    return tuple(name for name in tensors if any(name.startswith(begin) for begin in begins))


def _found(mine: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The network's tensors under the original's names."""
    before_mine, before_theirs = _prefix(list(mine), list(theirs)), _prefix(list(theirs), list(mine))
    longer = {name: mine[before_mine + name] for name in theirs if before_mine + name in mine}
    shorter = {before_theirs + name: tensor for name, tensor in mine.items() if before_theirs + name in theirs}
    return max(longer, shorter, key=len)


def _prefix(longer: list[str], shorter: list[str]) -> str:
    """What stands before the names of the one network in those of the other: the prefix that fits most of them."""
    possible = ["", *(name.removesuffix(shorter[0]) for name in longer if name.endswith(f".{shorter[0]}"))]
    return max(possible, key=lambda prefix: sum(prefix + name in longer for name in shorter))


def _usual_size(network: nn.Module) -> float:
    """Root mean square of all weights: a tensor of zeros has no size of its own to measure a change by."""
    weights = [w.detach().double() for w in network.parameters() if w.is_floating_point()]
    return math.sqrt(sum(float((w**2).sum()) for w in weights) / max(1, sum(w.numel() for w in weights)))


def _close(mine: Tensor | None, theirs: Tensor, usual: float) -> bool:
    """‖Δ‖ < 1e-4 ‖w‖, both in the number format of the network under audit; or the same bits."""
    if mine is None or mine.shape != theirs.shape:
        return False
    if not (mine.is_floating_point() and theirs.is_floating_point()):
        return torch.equal(mine.cpu(), theirs.cpu())
    w = theirs.detach().cpu().to(mine.dtype).double()
    size = max(float(w.norm()), usual * math.sqrt(w.numel()))
    moved = float((mine.detach().cpu().double() - w).norm())
    return moved < SAME * size or _equal_numbers(mine, theirs) == theirs.numel()


def _equal_numbers(mine: Tensor | None, theirs: Tensor) -> int:
    """How many numbers have the same bits in the same place, in the original's format; none where shapes differ."""
    if mine is None or mine.shape != theirs.shape:
        return 0
    both = mine.detach().to(theirs.dtype), theirs.detach()
    bits = [tensor.cpu().reshape(-1, 1).contiguous().view(torch.uint8) for tensor in both]
    return int((bits[0] == bits[1]).all(1).sum())
