"""What is refused before anything runs, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.data import DataLoader, Subset

from ..data.torchsets import as_data
from ..errors import InputRefused
from ..inference import non_finite, outputs_for
from ..splits import Part
from .card import SCENARIOS

if TYPE_CHECKING:
    from .base import Unlearner


def to_part(source: object, name: str) -> Part:
    """A part of a split as it is; a torch data set, a loader or a pair of tensors as a part of its own."""
    if isinstance(source, Part):
        return replace(source, name=name)
    data = as_data(source)
    return Part(data, data.train, name)


def check_overlap(forget: object, retain: object) -> None:
    """Refuse a retain set that holds records which shall be forgotten."""
    pair = [source.dataset if isinstance(source, DataLoader) else source for source in (forget, retain)]
    if isinstance(pair[0], Part) and isinstance(pair[1], Part) and pair[0].data is pair[1].data:
        shared = int(torch.isin(pair[0].rows, pair[1].rows).sum())
    elif isinstance(pair[0], Subset) and isinstance(pair[1], Subset) and pair[0].dataset is pair[1].dataset:
        shared = len(set(map(int, pair[0].indices)) & set(map(int, pair[1].indices)))
    else:
        shared = int(pair[0] is pair[1])
    if shared:
        raise InputRefused(
            f"{shared} of the records to forget are also in the retain set.", "Leave them out of the retain set."
        )


def check_network(model: nn.Module, part: Part) -> int:
    """The number of classes the network's head has; refuse what cannot run or what is no classifier."""
    if any(map(is_lazy, (*model.parameters(), *model.buffers()))):
        raise InputRefused("Some weights of the network have no shape yet.", "Run it once on a batch of its images.")
    masks = {name for name, buffer in model.named_buffers() if not bool(buffer.isnan().any())}  # infinite on purpose
    if wrong := sorted(non_finite(model) - masks):
        raise InputRefused(f"The network has non-finite weights in {wrong[0]}.", "Give a network that works.")
    if not any(p.requires_grad for p in model.parameters()):
        raise InputRefused("All weights of the network are frozen.", "Set requires_grad on those that may change.")
    return outputs_for(model, part)


def check_ratios(
    ratios: Tensor | Sequence[float] | None, forget: Part, retain: Part, K: int, warnings: list[str]
) -> Tensor:
    """r_k as a tensor of K shares, counted on forget ∪ retain when not given; 1 where a class has no records at all."""
    if ratios is None:
        warnings.append("No class ratios were given: they were counted as if forget and retain were all of the data.")
        gone, kept = (torch.bincount(part.labels, minlength=K) for part in (forget, retain))
        return (gone / (gone + kept).clamp(min=1)).where(gone + kept > 0, 1.0)
    refused = InputRefused("The class ratios do not fit the network.", f"Give at most {K} shares between 0 and 1.")
    try:
        shares = torch.as_tensor(ratios, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError):
        raise refused from None
    if shares.ndim != 1 or len(shares) > K or not bool(((shares >= 0) & (shares <= 1)).all()):  # NaN is neither
        raise refused
    if retain.counts is not None and len(retain.counts) == len(shares):
        shares = shares.where(retain.counts > 0, 1.0)
    return torch.cat([shares, torch.ones(K - len(shares))])  # a head may be wider than the data


def check_job(
    model: nn.Module,
    forget: Part,
    retain: Part,
    val: Part | None,
    ratios: Tensor | Sequence[float] | None,
    warnings: list[str],
) -> Tensor:
    """Everything that can be refused beforehand; gives r_k."""
    for part in (forget, retain):
        if len(part) == 0:
            raise InputRefused(f"The {part.name} set is empty.", "Give at least one record.")
    K = check_network(model, forget)
    for part in filter(None, (retain, val)):
        check_network(model, part)
    return check_ratios(ratios, forget, retain, K, warnings)


def check_support(method: Unlearner, forget: Part, ratios: Tensor, records: object | None) -> None:
    """Refuse a scenario that the method does not support, with the reason."""
    whole = bool((ratios[forget.labels] >= 1).all())
    if not whole and method.scenarios != SCENARIOS:
        raise InputRefused(
            f"{method.name} is defined for whole classes only, and this request leaves some of a class.",
            "Ask for whole classes, or use another method: `sublimate methods` lists what each supports.",
        )
    if method.needs_records and records is None:
        raise InputRefused(
            f"{method.name} needs what was kept at training time, and there are no such records.",
            f"Train with records for {method.name}, or use another method.",
        )
