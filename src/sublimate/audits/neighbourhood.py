"""Perturbed neighbourhood: is a forgotten record that is called wrong recognised again a small step away from it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.views import simple
from ..inference import device_of, modes_kept, prepare
from ..models.outputs import logits as as_logits
from ..randomness import stream
from ..splits import Part
from .outputs import bounded

SIZE = 0.03  # of a step, in pixels of 0..1
BATCH = 250
Change = Callable[[Tensor, Tensor, int], Tensor]
"""Images as stored, their labels and the number of the batch -> images to be shown."""


@dataclass(frozen=True, eq=False)
class Recognition:
    """Which records of a group are called right: clean, and for each kind of perturbation in each of its draws."""

    clean: Tensor  # [records]
    right: dict[str, Tensor] = field(default_factory=dict)  # kind -> [draws, records]

    def accuracy(self, kind: str) -> float:
        """Right / all, in percent, over records and draws."""
        return 100.0 * float(self.right[kind].double().mean())

    def fractions(self, kind: str) -> Tensor:
        """Of each record: the share of draws in which it is called right."""
        return self.right[kind].double().mean(0)

    def recognised(self, kind: str) -> Tensor:
        """Of each record: whether it is wrong when clean but right in at least one draw."""
        return ~self.clean & self.right[kind].any(0)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Both groups under the same perturbations; `skipped` says what could not be done, and why."""

    forget: Recognition
    control: Recognition
    skipped: tuple[str, ...]


def neighbourhood(
    model: nn.Module, forget: Part, control: Part, *, size: float = SIZE, draws: int = 10, seed: int = 0
) -> Neighbourhood:
    """Gaussian noise, one signed-gradient step towards the label, and augmented views, for both groups.

    It takes 2·draws + 3 passes over each group and one backwards: give samples of large ones.
    """
    both = [_recognition(model, part, size, draws, seed) for part in (forget, control)]
    reason = "noise and fgsm: model-ready input has no pixel unit to measure a step in"
    return Neighbourhood(both[0], both[1], () if forget.data.pixels else (reason,))


def _recognition(model: nn.Module, part: Part, size: float, draws: int, seed: int) -> Recognition:
    def drawn(kind: str, change: Callable[[Tensor, torch.Generator], Tensor]) -> Tensor:
        def once(d: int) -> Tensor:
            return _right(model, part, lambda x, y, t: change(x, stream(seed, kind, part.name, d, t)))

        return torch.stack([once(d) for d in range(draws)])

    right = {"views": drawn("views", partial(simple, flip=part.data.flip))}
    if part.data.pixels:
        right["noise"] = drawn("noise", partial(noisy, size=size))
        right["fgsm"] = _right(model, part, lambda x, y, t: towards(model, part, x, y, size))[None]
    return Recognition(_right(model, part, lambda x, y, t: x), right)


def noisy(x: Tensor, generator: torch.Generator, size: float) -> Tensor:
    """Pixels plus Gaussian noise of this standard deviation, kept within 0..1."""
    clean = _unit(x)
    return (clean + size * torch.randn(clean.shape, generator=generator).to(x.device)).clamp(0, 1)


def towards(model: nn.Module, part: Part, x: Tensor, y: Tensor, size: float) -> Tensor:
    """FGSM: one step of this size along the sign of the gradient, TOWARDS the label, kept within 0..1."""
    with modes_kept(model), torch.enable_grad():
        model.eval()
        clean = _unit(x).detach().requires_grad_()
        loss = F.cross_entropy(bounded(as_logits(model(prepare(part, clean)))), y, reduction="sum")
        if not loss.requires_grad:  # answers from a table do not depend on the pixels
            return clean.detach()
        # With respect to the pixels alone, so no weight gets a gradient; answers may not depend on them.
        (slope,) = torch.autograd.grad(loss, clean, allow_unused=True, materialize_grads=True)
    return (clean.detach() - size * slope.nan_to_num().sign()).clamp(0, 1)


def _unit(x: Tensor) -> Tensor:
    return x.float() if x.is_floating_point() else x.float() / 255


def _right(model: nn.Module, part: Part, change: Change) -> Tensor:
    """Which records are called right in evaluation mode after a change of their pixels."""
    device, found = device_of(model), [torch.empty(0, dtype=torch.bool)]
    with modes_kept(model), torch.no_grad():
        model.eval()
        for t, rows in enumerate(part.rows.split(BATCH)):
            x, y = (tensor.to(device) for tensor in part.data.read(rows))
            z = as_logits(model(prepare(part, change(x, y, t))))
            found.append((z.argmax(1) == y).cpu())
    return torch.cat(found)
