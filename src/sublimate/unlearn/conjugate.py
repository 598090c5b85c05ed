"""Conjugate gradients in pieces: the product with the matrix is gathered over batches, then the solution moves."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..phase import Measured
from .gradients import Tensors, movable


def flat(tensors: Tensors) -> Tensor:
    """All tensors as one vector."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors.values()])


def shaped(vector: Tensor, model: nn.Module) -> dict[str, Tensor]:
    """A vector as tensors in the shape of the parameters that may move."""
    parameters = movable(model)
    pieces = vector.split([p.numel() for p in parameters.values()])
    return {name: piece.view(p.shape) for (name, p), piece in zip(parameters.items(), pieces, strict=True)}


class Conjugate(nn.Module):
    """Solves (H + μ) k = v; H is a mean over records.  A module, so that its vectors are saved with the run.

    >>> cg = Conjugate(2, torch.device("cpu"), damping=1.0, tolerance=1e-6)
    >>> cg.start(torch.tensor([4.0, 0.0]))
    >>> cg.gather(cg.direction * 2, 2)  # two records whose matrices add up to 2
    >>> cg.advance()
    >>> cg.solution, cg.measure()[1]
    (tensor([2., 0.]), 'the residual is small')
    """

    solution: Tensor
    residual: Tensor
    direction: Tensor
    product: Tensor  # Σ H·direction over the records so far
    count: Tensor
    size: Tensor  # |v|

    def __init__(self, length: int, device: torch.device, *, damping: float, tolerance: float) -> None:
        super().__init__()
        self._damping, self._tolerance = damping, tolerance
        for name in ("solution", "residual", "direction", "product"):
            self.register_buffer(name, torch.zeros(length, device=device))
        for name in ("count", "size"):
            self.register_buffer(name, torch.zeros((), device=device))

    def start(self, v: Tensor) -> None:
        """Begin at nil."""
        self.residual.copy_(v)
        self.direction.copy_(v)
        self.size.copy_(v.norm())

    def gather(self, product: Tensor, count: int) -> None:
        """Add Σ H·direction of so many records."""
        self.product += product
        self.count += count

    def advance(self) -> None:
        """The whole product is there: one iteration."""
        Hd = self.product / self.count + self._damping * self.direction
        before, curvature = self.residual.square().sum(), self.direction.dot(Hd)
        if float(curvature) > 0:
            self.solution += before / curvature * self.direction
            self.residual -= before / curvature * Hd
            self.direction.mul_(self.residual.square().sum() / before).add_(self.residual)
        self.product.zero_()
        self.count.zero_()

    def measure(self) -> tuple[Measured, str | None]:
        """|(H + μ) k − v| / |v|, and whether that is small enough."""
        left = float(self.residual.norm() / self.size) if float(self.size) else 0.0
        return {"residual": left}, "the residual is small" if left <= self._tolerance else None
