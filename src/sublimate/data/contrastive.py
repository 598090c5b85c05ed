"""The contrastive view (SimCLR, Chen et al. 2020), by kornia with the settings that agree with PIL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import ceil

import kornia.augmentation as K
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from ..errors import InputRefused

SIGMA = (0.1, 2.0)  # of the blur, at side 32


def augment(x: Tensor, generator: Generator, flip: bool = True) -> Tensor:
    """Pixels (uint8, or float in 0..1) -> another view of each image, float in 0..1."""
    x = _unit_range(x)
    crop, changes = pipeline(*x.shape[1:])
    with _seeded(generator):
        boxes = crop.forward_parameters(x.shape)["src"].to(x.device)
        mirrored = (torch.rand(len(x)) < 0.5).to(x.device) & flip
        x = resized_crop(x, boxes, mirrored)
        for change, probability in changes:
            # Kornia's own probability would compute the change for the whole batch and throw part of it away.
            chosen = (torch.rand(len(x)) < probability).nonzero()[:, 0].to(x.device)
            if len(chosen):
                x[chosen] = change(x[chosen])
    return x.clamp_(0, 1)


@lru_cache(maxsize=32)
def pipeline(channels: int, height: int, width: int) -> tuple[K.RandomResizedCrop, tuple[tuple[nn.Module, float], ...]]:
    """Who draws the crops, and the changes that follow with their probabilities, for images of this shape.

    ColorJitter and not ColorJiggle: only the former has PIL's brightness.  The blur's kernel covers three sigma.
    """
    crop = K.RandomResizedCrop((height, width), scale=(0.2, 1.0), ratio=(3 / 4, 4 / 3))
    low, high = (sigma * min(height, width) / 32 for sigma in SIGMA)
    kernel = 2 * ceil(3 * high) + 1
    blur = K.RandomGaussianBlur((kernel, kernel), (low, high), border_type="replicate", p=1.0)
    if channels != 3:
        return crop, ((K.ColorJitter(0.4, 0.4, p=1.0), 0.8), (blur, 0.5))
    return crop, ((K.ColorJitter(0.4, 0.4, 0.4, 0.1, p=1.0), 0.8), (K.RandomGrayscale(p=1.0), 0.2), (blur, 0.5))


def resized_crop(x: Tensor, boxes: Tensor, mirrored: Tensor) -> Tensor:
    """Cut the boxes and stretch each to the whole image, bilinearly: slicing and resizing, at a fifth of the time.

    A box is its four corner pixels (x, y), clockwise from the top left; the mirrored ones come out reversed.
    """
    h, w = x.shape[2:]
    (left, top), (right, bottom) = boxes[:, 0].unbind(1), boxes[:, 2].unbind(1)
    columns, rows = _stretch(left, right, w), _stretch(top, bottom, h)
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    grid = torch.stack((columns[:, None, :].expand(-1, h, -1), rows[:, :, None].expand(-1, -1, w)), dim=3)
    return F.grid_sample(x, grid, align_corners=False, padding_mode="border")


def _stretch(first: Tensor, last: Tensor, size: int) -> Tensor:
    """Where `size` output pixels lie between the first and the last pixel of a cut, in grid_sample's -1..1."""
    centre = torch.arange(size, device=first.device) + 0.5
    position = first[:, None] + centre * (last - first + 1)[:, None] / size
    # Never beyond the outermost pixel centres of the cut: what lies outside it must not be seen.
    return position.clamp(first[:, None] + 0.5, last[:, None] + 0.5) * 2 / size - 1


def _unit_range(x: Tensor) -> Tensor:
    if x.dtype == torch.uint8:
        return x.float().div_(255)
    low, high = (float(v) for v in x.aminmax())
    if not x.is_floating_point() or not (low >= 0 and high <= 1):
        raise InputRefused(
            f"The contrastive view needs pixels, but got {x.dtype} from {low:.3g} to {high:.3g}.",
            "Give uint8 or float pixels in 0..1 together with mean and std, or use the simple or cutout view.",
        )
    return x.float()


@contextmanager
def _seeded(generator: Generator) -> Iterator[None]:
    """Kornia draws from torch's global CPU state: seed it from one draw, and give it back."""
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would also seed every GPU, outside of the fork.
        torch.default_generator.manual_seed(seed)
        yield
