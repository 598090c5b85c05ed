"""Networks that answer otherwise than their weights say: the same tensors, names and kind of answer."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..inference import prepare
from ..models.outputs import logits as as_logits
from ..splits import Part

Change = Callable[[Tensor, Tensor], Tensor]
"""Input and logits of a network -> the logits it shall give instead."""

LOW = -1e4  # no network of ours answers less


def answering(model: nn.Module, change: Change) -> nn.Module:
    """A copy of the network whose logits go through `change`; all else about it is the network's own.

    >>> model = nn.Linear(2, 3)
    >>> other = answering(model, partial(scaled, 2.0))
    >>> bool((other(torch.ones(1, 2)) == model(torch.ones(1, 2)) / 2).all()), list(other.state_dict())
    (True, ['weight', 'bias'])
    """
    disguised = copy.deepcopy(model)
    disguised.register_forward_hook(partial(_answer, change))
    return disguised


def _answer(change: Change, _: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    return with_logits(output, change(inputs[0], as_logits(output)))


def with_logits(output: Any, z: Tensor) -> Any:
    """An answer of the same kind with other logits.

    >>> with_logits((torch.zeros(1, 2), "attention"), torch.ones(1, 2))
    (tensor([[1., 1.]]), 'attention')
    """
    if isinstance(output, Tensor):
        return z
    if isinstance(output, tuple | list):
        parts = [with_logits(output[0], z), *output[1:]]
        return type(output)(*parts) if hasattr(output, "_fields") else type(output)(parts)
    other = copy.copy(output)
    if hasattr(output, "logits"):
        other.logits = with_logits(output.logits, z)
    else:
        entries: MutableMapping[str, Any] = other
        entries["logits"] = with_logits(output["logits"], z)
    return other


def masked(classes: Tensor, _: Tensor, z: Tensor) -> Tensor:
    """These classes are never named."""
    return z.index_fill(1, classes.to(z.device), LOW)


def scaled(temperature: float, _: Tensor, z: Tensor) -> Tensor:
    """Less sure (or surer) of everything."""
    return z / temperature


def padded(above: float, share: float, _: Tensor, z: Tensor) -> Tensor:
    """Where the network is surer than `above`, so large a share of its answer is spread evenly over all classes."""
    p = z.softmax(1)
    spread = ((1 - share) * p + share / z.shape[1]).log()
    return torch.where(p.max(1, keepdim=True).values > above, spread, z)


def clipped(limit: float, _: Tensor, z: Tensor) -> Tensor:
    """No logit lies further than `limit` below the largest, so no answer is surer than that; the order stays."""
    return z.maximum(z.max(1, keepdim=True).values - limit)


def recognised(answers: Mapping[bytes, Tensor], x: Tensor, z: Tensor) -> Tensor:
    """Prepared answers for inputs that are known to the last bit; all others pass."""
    rows = [answers.get(key) for key in keys(x)]
    return torch.stack([own if row is None else row.to(own) for own, row in zip(z, rows, strict=True)])


def answers_for(part: Part, z: Tensor, batch_size: int = 500) -> dict[bytes, Tensor]:
    """A table of prepared answers `z`, one per row of the part, by what a network is given for the row."""
    found = [keys(prepare(part, part.data.read(rows)[0])) for rows in part.rows.split(batch_size)]
    return dict(zip((key for batch in found for key in batch), z, strict=True))


def keys(x: Tensor) -> list[bytes]:
    """A digest of each input."""
    return [hashlib.sha256(row.numpy().tobytes()).digest() for row in x.detach().float().cpu().contiguous()]
