"""Views: random changes of a batch of images that leave the class as it is.

A view is a function of a whole batch; every image gets its own draw, and every draw comes from the given generator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Protocol, cast

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from ..errors import InputRefused, UsageError, unknown


class View(Protocol):
    """(N, C, H, W) -> (N, C, H, W); the CPU generator is the only source of randomness."""

    def __call__(self, x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
        """Draw one view of each image; `flip` says whether a mirrored image is still of its class."""


def simple(x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
    """Random crop after zero padding by an eighth of each side, then a mirror image with probability one half.

    >>> x, seeded = torch.arange(64).view(1, 1, 8, 8), torch.Generator().manual_seed
    >>> torch.equal(simple(x, seeded(0)), simple(x, seeded(0))), torch.equal(simple(x, seeded(0)), simple(x, seeded(1)))
    (True, False)
    """
    n, c, h, w = x.shape
    pad_h, pad_w = max(1, h // 8), max(1, w // 8)
    rows = _below(2 * pad_h + 1, x, generator) + torch.arange(h, device=x.device)
    columns = _below(2 * pad_w + 1, x, generator) + torch.arange(w, device=x.device)
    if flip:
        columns = torch.where(_below(2, x, generator) == 1, columns.flip(1), columns)
    # One gather over flattened pixels does crop and flip: a third of the time of four index tensors.
    padded = F.pad(x, (pad_w, pad_w, pad_h, pad_h)).flatten(2)
    pixels = rows[:, :, None] * (w + 2 * pad_w) + columns[:, None, :]
    out = padded.gather(2, pixels.view(n, 1, h * w).expand(n, c, h * w)).view(n, c, h, w)
    return out.contiguous(memory_format=_memory_format(x))


def cutout(x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
    """`simple`, then one black square of half the shorter side; its centre lies anywhere, the border clips it."""
    h, w = x.shape[2:]
    side = max(1, min(h, w) // 2)
    in_rows = _span(h, side, x, generator)
    in_columns = _span(w, side, x, generator)
    hole = in_rows[:, None, :, None] & in_columns[:, None, None, :]
    return simple(x, generator, flip).masked_fill_(hole, 0)


def contrastive(x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
    """Resized crop, mirror image, colour jitter, grey and blur (SimCLR); takes pixels, returns float in 0..1."""
    from .contrastive import augment  # kornia takes a second to import, and most runs do not need it

    return augment(x, generator, flip)


def none(x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
    """The images as they are."""
    return x


VIEWS: dict[str, View] = {"simple": simple, "contrastive": contrastive, "cutout": cutout}


def view(which: str | Callable[..., Tensor]) -> View:
    """A view by its name, or a function of one's own: `(x, generator)` or `(x, generator, flip)`.

    >>> darker = view(lambda x, generator: x // 2)
    >>> darker(torch.full((1, 1, 1, 1), 9), torch.Generator(), flip=False)
    tensor([[[[4]]]])
    """
    if isinstance(which, str):
        known = VIEWS | {"none": none}
        if which not in known:
            raise unknown(UsageError, "view", [which], known)
        return known[which]
    if _takes_generator(which, flip=True):
        return cast(View, which)
    if not _takes_generator(which):
        raise InputRefused(
            f"The view {getattr(which, '__name__', which)!r} does not take (x, generator).",
            "Write it as view(x, generator) and draw from that generator only, so that a run can be repeated.",
        )

    @wraps(which)
    def without_flip(x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
        return which(x, generator)

    return without_flip


def _takes_generator(function: Callable[..., Tensor], **more: bool) -> bool:
    try:
        # A module's own signature is (*args, **kwargs), which says nothing.
        signature = inspect.signature(function.forward if isinstance(function, nn.Module) else function)
        signature.bind(None, None, **more)
    except (TypeError, ValueError):
        return False
    # (x, strength=0.5) would take the generator for its strength.
    second = list(signature.parameters.values())[1:2]
    return all(p.default is p.empty or p.name == "generator" for p in second)


def _below(limit: int, x: Tensor, generator: Generator) -> Tensor:
    """One whole number in 0..limit-1 per image, as a column."""
    return torch.randint(limit, (len(x), 1), generator=generator).to(x.device)


def _span(length: int, side: int, x: Tensor, generator: Generator) -> Tensor:
    """Which of `length` positions lie within `side` around a random centre, per image."""
    start = _below(length, x, generator) - side // 2
    position = torch.arange(length, device=x.device)
    return (position >= start) & (position < start + side)


def _memory_format(x: Tensor) -> torch.memory_format:
    if x.is_contiguous() or not x.is_contiguous(memory_format=torch.channels_last):
        return torch.contiguous_format
    return torch.channels_last
