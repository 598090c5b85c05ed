"""What a method works on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..data.batches import Batch, Batches, Meter
from ..data.views import View
from ..data.views import view as find_view
from ..errors import InputRefused
from ..inference import accuracy, predict, prepare
from ..models.memory import channels_last
from ..models.outputs import logits as as_logits
from ..models.reset import reset
from ..randomness import derive, stream
from ..splits import Part


@dataclass(kw_only=True, eq=False)
class Job:
    """The student, the parts it may learn from, and what else a method may ask for."""

    model: nn.Module  # the student: the only thing that changes
    original: nn.Module  # never changed
    forget: Part
    retain: Part
    val: Part | None
    ratios: Tensor  # r_k
    seed: int
    device: torch.device
    records: Any = None  # what was kept at training time
    factory: Callable[[], nn.Module] | None = None
    meter: Meter = field(default_factory=Meter)
    choices: dict[str, Any] = field(default_factory=dict)  # what the method chose for the user, fit for JSON

    @property
    def classes(self) -> int:
        """K."""
        return len(self.ratios)

    @property
    def forgotten(self) -> Tensor:
        """Numbers of the classes of which this request leaves nothing."""
        asked: Tensor = self.forget.labels.unique()
        return asked[self.ratios[asked] >= 1]

    @property
    def remaining(self) -> Tensor:
        """Whether something is left of each class: not so of those forgotten earlier, or that never were."""
        return self.ratios < 1

    @property
    def trained(self) -> int:
        """N: the size of the whole training set where both parts are rows of one table, else of what was given."""
        data, given = self.retain.data, len(self.forget) + len(self.retain)
        if self.forget.data is not data:
            return given
        counts = self.retain.counts
        return max(sum(data.class_counts or data.sizes[:1]) if counts is None else int(counts.sum()), given)

    @property
    def share(self) -> float:
        """N_f / N."""
        return len(self.forget) / self.trained

    @property
    def given(self) -> float:
        """How much of D_r is at hand: |S_r| / |D_r|."""
        return len(self.retain) / (self.trained - len(self.forget))

    @property
    def kept(self) -> Part:
        """Never-seen records of the classes that remain."""
        assert self.val is not None
        return self.val.where(self.remaining[self.val.labels])

    def batches(self, part: Part, size: int, *, cycle: bool = False, fill: int = 0) -> Batches:
        """Seeded batches of a part, counted by the meter."""
        return Batches(part, size, seed=self.seed, meter=self.meter, device=self.device, cycle=cycle, fill=fill)

    def mixed(self, size: int) -> tuple[Batches, Batches]:
        """Retained and forgotten records in proportion: a pass over D_r, and the part of each batch that is D_f.

        Each batch holds at least one record of both, so that a request of one record is felt.
        """
        return (
            self.batches(self.retain, mixed_share(len(self.retain), len(self.forget), size)),
            self.batches(self.forget, mixed_share(len(self.forget), len(self.retain), size), cycle=True),
        )

    def stream(self, *place: object) -> torch.Generator:
        """The generator of one named place of the run."""
        return stream(self.seed, *place)

    def seen(self, part: Part, batch: Batch, views: str | View) -> Tensor:
        """One view of each image of the batch, drawn by the number of the batch."""
        return self.view(views, part)(batch.x, self.stream("views", part.name, batch.t))

    def view(self, which: str | View, part: Part) -> Callable[[Tensor, torch.Generator], Tensor]:
        """The augmentation, as it suits the data: a mirrored digit is no digit."""
        if which == "contrastive" and not part.data.pixels:
            raise InputRefused(
                "Contrastive views change colours, but this data is model-ready input.",
                'Give pixels with their mean and std, or use views="simple".',
            )
        return partial(find_view(which), flip=part.data.flip)

    def logits(self, part: Part, x: Tensor, model: nn.Module | None = None) -> Tensor:
        """Logits of the student (or of another network) for images as stored or augmented."""
        return as_logits((model or self.model)(prepare(part, x)))

    def teacher(self) -> nn.Module:
        """The original as a frozen copy in evaluation mode."""
        return _frozen(channels_last(copy.deepcopy(self.original)))

    def fresh(self, *place: object) -> nn.Module:
        """A frozen network of the same kind with new random weights, in evaluation mode."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(self.seed, "fresh", *place))
            network = copy.deepcopy(self.original) if self.factory is None else self.factory().to(self.device)
            if self.factory is None:
                reset(network)
            elif _shapes(network) != _shapes(self.original):
                raise InputRefused("factory= builds another network than this.", "Let it build one of the same shape.")
        return _frozen(channels_last(network))

    def retained_accuracy(self, model: nn.Module) -> float:
        """Accuracy on never-seen records of the classes that remain."""
        kept = self.kept
        return accuracy(predict(model, kept), kept.labels) if len(kept) else 0.0


def _shapes(model: nn.Module) -> dict[str, object]:
    return {name: getattr(value, "shape", None) for name, value in model.state_dict().items()}


def mixed_share(mine: int, others: int, size: int) -> int:
    """How many of a mixed batch of this size are mine.

    >>> mixed_share(1000, 3000, 128), mixed_share(1, 50_000, 128)
    (32, 1)
    """
    return max(1, round(size * mine / (mine + others)))


def _frozen(network: nn.Module) -> nn.Module:
    network.requires_grad_(False)
    return network.eval()
