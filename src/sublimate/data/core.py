"""Data: pixels, labels, class names, stable ids and the normalisation a network was trained with."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ..errors import InputRefused, check_is

Reader = Callable[[Tensor], Tensor]
"""Row indices -> images (n, C, H, W): uint8 pixels, float pixels in 0..1, or model-ready float input."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Data:
    """One table of images: the training rows first, then the test rows, then the validation rows.

    `read(indices)` is the only access to images.  `images` is a tensor (in memory) or a `Reader` (streamed);
    labels and ids are always whole in memory.  `mean` and `std` are None for model-ready input.

    >>> x, y = torch.zeros(4, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1, 0, 1])
    >>> data = Data(name="toy", images=x, labels=y, sizes=(2, 2, 0), classes=("a", "b"), mean=(0.5,), std=(0.5,))
    >>> data.test.tolist(), data.ids, data.read(data.train)[0].shape
    ([2, 3], ('0', '1'), torch.Size([2, 1, 8, 8]))
    """

    name: str
    images: Tensor | Reader
    labels: Tensor  # class numbers of all rows
    sizes: tuple[int, int, int]  # training, test, validation
    classes: tuple[str, ...]
    ids: tuple[str, ...] = ()  # of the training rows; default: the row number
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    flip: bool = True  # whether a mirrored image is still of its class
    class_counts: tuple[int, ...] | None = None  # of the whole training set, when these rows are only part of it
    content: str | None = None  # digest of the images, when the reader knows one

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "labels", self.labels.long())
        if not self.ids:
            object.__setattr__(self, "ids", tuple(map(str, range(self.sizes[0]))))

    @classmethod
    def from_dataset(
        cls,
        train: object,
        test: object = None,
        val: object = None,
        *,
        classes: Sequence[object] | None = None,
        ids: Sequence[object] | None = None,
        mean: Sequence[float] | float | None = None,
        std: Sequence[float] | float | None = None,
        flip: bool = True,
        name: str = "dataset",
    ) -> Data:
        """Data from torch data sets, loaders of them, or pairs of tensors (x, y).

        With `mean` and `std` rows are pixels: PIL images, uint8, or float in 0..1 (torch: channels first, numpy:
        channels last).  Without them rows are model-ready floats.  Labels come from `.targets` or `.labels`, else
        from one pass; class names from `.classes`, else they are numbers.

        >>> x, y = torch.zeros(4, 1, 8, 8), torch.tensor([0, 1, 0, 1])
        >>> Data.from_dataset((x, y), classes=("cat", "dog"), mean=(0.5,), std=(0.5,)).sizes
        (4, 0, 0)
        """
        from .torchsets import from_dataset

        return from_dataset(train, test, val, classes=classes, ids=ids, mean=mean, std=std, flip=flip, name=name)

    def read(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Images and labels of these rows, as stored: before any view and before normalisation."""
        x = self.images[indices] if isinstance(self.images, Tensor) else self.images(indices)
        if not isinstance(self.images, Tensor) and x.is_floating_point() and not bool(torch.isfinite(x).all()):
            raise InputRefused(f"{self.name} gave non-finite pixels.", "Repair or leave out those images.")
        return x, self.labels[indices]

    def normalise(self, x: Tensor) -> Tensor:
        """Pixels -> what the network takes; model-ready input passes unchanged.

        >>> white = torch.full((1, 1, 1, 1), 255, dtype=torch.uint8)
        >>> Data(name="toy", images=white, labels=torch.tensor([0]), sizes=(1, 0, 0), classes=("a", "b"),
        ...      mean=(0.5,), std=(0.5,)).normalise(white)
        tensor([[[[1.]]]])
        """
        x = x.float() if x.is_floating_point() else x.float().div_(255)
        if self.mean is None or self.std is None:
            return x
        shape = (1, -1, 1, 1)
        mean = torch.tensor(self.mean, dtype=x.dtype, device=x.device).view(shape)
        std = torch.tensor(self.std, dtype=x.dtype, device=x.device).view(shape)
        return (x - mean) / std

    def normalised(self, mean: Sequence[float] | None, std: Sequence[float] | None) -> Data:
        """The same rows for a network that was trained with another normalisation."""
        if mean is None or std is None or self.mean is None:
            return self
        return replace(self, mean=tuple(mean), std=tuple(std))

    @property
    def pixels(self) -> bool:
        """Whether rows are pixels (so that colours may be changed), not model-ready input."""
        return self.mean is not None

    @property
    def train(self) -> Tensor:
        """Indices of the training rows."""
        return torch.arange(self.sizes[0])

    @property
    def test(self) -> Tensor:
        """Indices of the test rows."""
        return torch.arange(self.sizes[0], self.sizes[0] + self.sizes[1])

    @property
    def val(self) -> Tensor:
        """Indices of the validation rows of the data's own (may be none)."""
        return torch.arange(self.sizes[0] + self.sizes[1], sum(self.sizes))

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        c, h, w = self.read(torch.tensor([0]))[0].shape[1:]
        return int(c), int(h), int(w)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of ids, labels, sizes, class names and (in memory) of the pixels."""
        h = hashlib.sha256(repr((self.sizes, self.classes, self.class_counts, self.content)).encode())
        h.update("\n".join(self.ids).encode())
        h.update(self.labels.numpy().tobytes())
        if isinstance(self.images, Tensor) and self.content is None:
            h.update(self.images.contiguous().numpy().tobytes())
        return h.hexdigest()


def _check(data: Data) -> None:
    check_is("labels", data.labels, Tensor, "Give a tensor of class numbers.")
    n, k = sum(data.sizes), len(data.classes)
    if data.sizes[0] == 0:
        raise InputRefused(f"{data.name} has no training rows.", "Give the records the network was trained on.")
    if len(set(data.classes)) != k:
        twice = next(name for name in data.classes if data.classes.count(name) > 1)
        raise InputRefused(f"{data.name} has two classes named {twice!r}.", "Give each class its own name.")
    if len(data.labels) != n or (isinstance(data.images, Tensor) and len(data.images) != n):
        raise InputRefused(f"{data.name} has {n} rows but {len(data.labels)} labels.", "Give one label per image.")
    if data.labels.is_floating_point() or data.labels.ndim != 1:
        raise InputRefused(
            f"{data.name} has labels of type {data.labels.dtype} and {data.labels.ndim} axes.",
            "Give one whole class number per image; multi-label and regression targets are not supported.",
        )
    if int(data.labels.min()) < 0 or int(data.labels.max()) >= k:
        raise InputRefused(
            f"{data.name} has labels from {int(data.labels.min())} to {int(data.labels.max())} for {k} classes.",
            f"Labels must lie in 0..{k - 1}.",
        )
    if data.class_counts is not None:
        here = data.labels[: data.sizes[0]].bincount(minlength=k).tolist()
        if len(data.class_counts) != k or any(map(operator.lt, data.class_counts, here)):
            raise InputRefused(
                f"{data.name} has class_counts {list(data.class_counts)} but holds {here} training rows per class.",
                "Give, for each class, its size in the whole training set.",
            )
    if data.ids and (len(data.ids) != data.sizes[0] or len(set(data.ids)) != len(data.ids)):
        raise InputRefused(f"{data.name} has ids that are missing or used twice.", "Give each training row one id.")
    if isinstance(data.images, Tensor):
        if data.images.ndim != 4:
            raise InputRefused(f"{data.name} has images with {data.images.ndim} axes.", "Give (N, C, H, W).")
        if data.images.is_floating_point() and not bool(torch.isfinite(data.images).all()):
            raise InputRefused(f"{data.name} has non-finite pixels.", "Repair or leave out those images.")
