"""One pass collects logits; what is said about a network is a pure function of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

from .errors import InputRefused, SublimateError, check_is
from .models.outputs import logits as as_logits
from .splits import Part

GIVE_MODEL = "Give a trained torch.nn.Module."
LOOKING = ContextVar("looking", default=False)  # whether a network is only looked at, not trained


@contextmanager
def gradients_on() -> Iterator[None]:
    """Work as if the caller had not switched gradients off."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


@contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """Give every module back its own training or evaluation mode, also after an exception."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def looking(model: nn.Module) -> Iterator[None]:
    """Evaluation mode and no gradients, and no tensors of inference mode either: a module may keep what it is given."""
    token = LOOKING.set(True)
    try:
        with modes_kept(model), torch.inference_mode(False), torch.no_grad():
            model.eval()
            yield
    finally:
        LOOKING.reset(token)


def device_of(model: nn.Module) -> torch.device:
    """Where the network lives."""
    tensor = next(model.parameters(), None)
    return torch.device("cpu") if tensor is None else tensor.device


def non_finite(model: nn.Module) -> str | None:
    """The name of a weight that is no number, if there is one; an infinity in a buffer may be meant: a mask.

    >>> layer = nn.Linear(1, 1)
    >>> layer.register_buffer("mask", torch.tensor(float("-inf")))
    >>> before, layer.bias.data[0] = non_finite(layer), float("inf")
    >>> before, non_finite(layer)
    (None, 'bias')
    """
    for name, value in model.state_dict(keep_vars=True).items():
        if isinstance(value, nn.Parameter) and not bool(value.isfinite().all()):
            return name
        if isinstance(value, Tensor) and bool(value.isnan().any()):
            return name
    return None


def prepare(part: Part, x: Tensor) -> Tensor:
    """Normalise, and lay out as convolutions like it best."""
    return part.data.normalise(x).contiguous(memory_format=torch.channels_last)


def predict(model: nn.Module, part: Part, batch_size: int = 500, tick: Callable[[int], None] | None = None) -> Tensor:
    """Logits of all rows of a part, without augmentation, in evaluation mode, on the CPU in float32."""
    check_is("model", model, nn.Module, GIVE_MODEL)
    if not len(part):
        return torch.empty(0, len(part.data.classes))
    device, found = device_of(model), []
    with looking(model):
        for rows in part.rows.split(batch_size):
            x = part.data.read(rows)[0].to(device)
            found.append(answers(model, part, x).float().cpu())
            if tick:
                tick(len(rows))
    return check_width(torch.cat(found).clone(), part)


def answers(model: nn.Module, part: Part, x: Tensor) -> Tensor:
    """Logits for images as stored; whatever a network of the user's raises becomes a refusal."""
    try:
        return as_logits(model(prepare(part, x)))
    except (SublimateError, MemoryError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:
        said = next(iter(str(error).splitlines()), "") or type(error).__name__
        whole = all(p.dtype == torch.float32 for p in model.parameters() if p.is_floating_point())
        raise InputRefused(
            f"The network cannot take an image of shape {tuple(x.shape[1:])}: {said}",
            "Give data of the channels and size the network was trained on."
            if whole
            else "Images come as float32: give the network in that precision, model.float().",
        ) from error


def outputs_for(model: nn.Module, part: Part) -> int:
    """How many classes the network tells apart, tried on one image; refuses what cannot take it."""
    x = part.first.to(device_of(model))
    with looking(model):
        return check_width(answers(model, part, x), part).shape[1]


def check_width(z: Tensor, part: Part) -> Tensor:
    """The logits, if there is one for every class that the part shows."""
    if len(part) and int(part.labels.max()) >= z.shape[-1]:
        raise InputRefused(
            f"The data has class number {int(part.labels.max())}, but the network's head has {z.shape[-1]} outputs.",
            "Give the data the network was trained on.",
        )
    return z


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Correct / total, in percent; never a mean of batch means.

    >>> accuracy(torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0]]), torch.tensor([0, 1, 1]))
    66.66666666666667
    """
    return 100.0 * int((logits.argmax(1) == labels).sum()) / len(labels)


def confidence(logits: Tensor, labels: Tensor) -> Tensor:
    """φ = log p_y − log(1 − p_y): the logit-scaled confidence of the given label.

    >>> confidence(torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([0])).item().__round__(4)
    0.3069
    """
    z = logits.double()
    own = z.gather(1, labels[:, None])
    others = z.scatter(1, labels[:, None], float("-inf"))
    return own.squeeze(1) - others.logsumexp(1)


def auc(higher: Tensor, lower: Tensor) -> float:
    """Probability that a value of the first group exceeds one of the second; ties count half.  .5: no difference.

    >>> auc(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0]))
    0.625
    """
    return float(placements(higher, lower).mean())


def placements(own: Tensor, others: Tensor) -> Tensor:
    """For each value the share of the others below it; ties count half.

    >>> placements(torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0])).tolist()
    [1.0, 0.25]
    """
    ordered = others.double().sort().values
    x = own.double()
    wins = torch.searchsorted(ordered, x, right=False) + torch.searchsorted(ordered, x, right=True)
    return wins.double() / (2 * len(ordered))


def auc_by_class(higher: Tensor, its_labels: Tensor, lower: Tensor, their_labels: Tensor) -> float:
    """`auc` over pairs of the same class, each class weighted by its size in the first group.

    Classes that the second group does not show are left out; .5 when that leaves none.
    """
    found, weights = list[float](), list[int]()
    for k in its_labels.unique():
        mine, theirs = higher[its_labels == k], lower[their_labels == k]
        if len(theirs):
            found.append(auc(mine, theirs))
            weights.append(len(mine))
    return sum(f * w for f, w in zip(found, weights, strict=True)) / sum(weights) if weights else 0.5
