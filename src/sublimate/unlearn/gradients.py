"""Gradients as statistics: what the methods without training are made of.

Everything is read in evaluation mode, of inputs that are ready for the network; a result maps the name of each
parameter that may move to a tensor of its shape (tied weights stand once, under their first name).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..inference import modes_kept
from ..models.outputs import logits as as_logits

AT_ONCE = 2**25  # floats of per-sample gradients in memory
WORTH = 8  # records at once from which vectorising is faster than one by one
Tensors = Mapping[str, Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]  # logits (n, K) and a target for each -> the sum over n
Each = Callable[[Tensor], Tensor]


def cross_entropy(z: Tensor, target: Tensor) -> Tensor:
    """Σ CE over the rows; a target is a class or a weight for each class."""
    return F.cross_entropy(z, target, reduction="sum")


def movable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that may change.

    >>> list(movable(nn.Linear(2, 2)))
    ['weight', 'bias']
    """
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def probabilities(model: nn.Module, x: Tensor) -> Tensor:
    """p(y|x) for each record of the batch."""
    with undisturbed(model), torch.no_grad():
        return as_logits(model(x)).softmax(1)


def summed_gradients(model: nn.Module, x: Tensor, target: Tensor, loss: Loss = cross_entropy) -> Tensors:
    """Σ ∇ℓ over the batch."""
    parameters = movable(model)
    with undisturbed(model):
        total = loss(as_logits(model(x)), target)
        found = torch.autograd.grad(total, list(parameters.values()), materialize_grads=True)
    return dict(zip(parameters, found, strict=True))


def summed_over_samples(
    model: nn.Module, x: Tensor, target: Tensor, loss: Loss = cross_entropy, each: Each = torch.square
) -> Tensors:
    """Σ each(∇ℓ) with the gradient of every single record: the sum of squares, if not told otherwise."""
    chunk = AT_ONCE // sum(p.numel() for p in movable(model).values())
    with undisturbed(model):
        if chunk >= WORTH:
            with suppress(RuntimeError):  # what torch cannot vectorise goes one by one, with the same result
                return _vectorised(model, x, target, loss, each, chunk)
        return _one_by_one(model, x, target, loss, each)


def _vectorised(model: nn.Module, x: Tensor, target: Tensor, loss: Loss, each: Each, chunk: int) -> Tensors:
    parameters = values_of(model)

    def of_one(parameters: Tensors, x: Tensor, target: Tensor) -> Tensor:
        return loss(as_logits(functional_call(model, dict(parameters), (x[None],))), target[None])

    sums = {name: torch.zeros_like(value) for name, value in parameters.items()}
    for some, theirs in zip(x.split(chunk), target.split(chunk), strict=True):
        for name, found in vmap(grad(of_one), in_dims=(None, 0, 0))(parameters, some, theirs).items():
            sums[name] += each(found).sum(0)
    return sums


def _one_by_one(model: nn.Module, x: Tensor, target: Tensor, loss: Loss, each: Each) -> Tensors:
    sums = {name: torch.zeros_like(value) for name, value in values_of(model).items()}
    for one, its in zip(x.split(1), target.split(1), strict=True):
        for name, found in summed_gradients(model, one, its, loss).items():
            sums[name] += each(found)
    return sums


def values_of(model: nn.Module) -> dict[str, Tensor]:
    """What may change, as plain tensors."""
    return {name: parameter.detach() for name, parameter in movable(model).items()}


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, and attention by kernels that torch can differentiate in every way; both given back."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with modes_kept(model), torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            model.eval()
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


class Sums(nn.Module):
    """What a gathering phase adds up: a buffer for each parameter and a count, saved with the run.

    >>> sums = Sums(nn.Linear(1, 1, bias=False))
    >>> sums.add({"weight": torch.tensor([[6.0]])}, 3)
    >>> sums.means()
    {'weight': tensor([[2.]])}
    """

    count: Tensor

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._names = list(movable(model))
        for number, parameter in enumerate(movable(model).values()):
            self.register_buffer(str(number), torch.zeros_like(parameter.detach()))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def add(self, found: Tensors, count: int) -> None:
        """Add the sums of so many records."""
        for number, name in enumerate(self._names):
            self.get_buffer(str(number)).add_(found[name])
        self.count += count

    def means(self) -> dict[str, Tensor]:
        """The mean over what was counted, by the names of the parameters."""
        return {name: self.get_buffer(str(i)) / self.count for i, name in enumerate(self._names)}
