"""What all methods share: the final `unlearn` around a method's phases."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor, nn

from ..data.batches import Batches, Meter
from ..data.views import View
from ..data.views import view as find_view
from ..errors import InputRefused, UnlearningFailed
from ..inference import accuracy, confidence, device_of, predict, prepare
from ..loop import Loop, Measured, Phase, Progress, Saver
from ..models.memory import channels_last
from ..models.outputs import logits as as_logits
from ..randomness import derive, guarded, stream
from ..splits import Part
from .checks import check_job, check_overlap, to_part
from .options import check_values


@dataclass(kw_only=True, eq=False)
class Record:
    """What a run did: choices, warnings, losses, what it read, why it stopped."""

    method: str
    options: Mapping[str, Any]
    choices: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    samples: dict[str, int] = field(default_factory=dict)  # read per part
    losses: list[Measured] = field(default_factory=list)
    checks: list[Measured] = field(default_factory=list)
    stopped: str = ""


@dataclass(kw_only=True, eq=False)
class Outcome:
    """The erased network and the record of the run."""

    model: nn.Module
    record: Record


@dataclass(kw_only=True, eq=False)
class Job:
    """What a method works on: the student, and the parts it may read."""

    model: nn.Module  # the student: the only thing that changes
    original: nn.Module  # never changed
    forget: Part
    retain: Part
    val: Part | None
    ratios: Tensor  # r_k
    seed: int
    device: torch.device
    meter: Meter = field(default_factory=Meter)

    @property
    def classes(self) -> int:
        """K."""
        return len(self.ratios)

    @property
    def forgotten(self) -> Tensor:
        """Numbers of the classes that are wholly forgotten."""
        return (self.ratios >= 1).nonzero().flatten()

    def batches(self, part: Part, size: int, *, cycle: bool = False, fill: int = 0) -> Batches:
        """Seeded batches of a part, counted by the meter."""
        return Batches(part, size, seed=self.seed, meter=self.meter, device=self.device, cycle=cycle, fill=fill)

    def stream(self, *place: object) -> torch.Generator:
        """The generator of one named place of the run."""
        return stream(self.seed, *place)

    def view(self, which: str | View, part: Part) -> Callable[[Tensor, torch.Generator], Tensor]:
        """The augmentation, as it suits the data: a mirrored digit is no digit."""
        if which == "contrastive" and not part.data.pixels:
            raise InputRefused(
                "Contrastive views change colours, but this data is model-ready input.",
                'Give pixels with their mean and std, or use views="simple".',
            )
        return partial(find_view(which), flip=part.data.flip)

    def logits(self, part: Part, x: Tensor) -> Tensor:
        """The student's logits for images as stored or augmented."""
        return as_logits(self.model(prepare(part, x)))

    def retained_accuracy(self, model: nn.Module) -> float:
        """Accuracy on never-seen records of the classes that remain."""
        assert self.val is not None
        kept = self.val.where(~torch.isin(self.val.labels, self.forgotten))
        return accuracy(predict(model, kept), kept.labels) if len(kept) else 0.0


@dataclass(frozen=True, kw_only=True)
class Unlearner(ABC):
    """A method: a frozen record of hyper-parameters whose `phases` are the formula; the loop is not its business."""

    name: ClassVar[str]
    seed: int = 0
    norm: Literal["eval", "train"] = "train"  # mode of the whole network during the run: batch norm, dropout

    def __post_init__(self) -> None:
        check_values(self)

    @abstractmethod
    def phases(self, job: Job) -> Iterator[Phase]:
        """The phases of the method, in order; whatever they need of the untouched network is `job.original`."""

    @final
    def unlearn(
        self,
        model: nn.Module,
        forget: object,
        retain: object,
        *,
        ratios: Tensor | Sequence[float] | None = None,
        val: object | None = None,
        records: object | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> nn.Module:
        """Return an erased copy of `model`; the model, the data and the random state of the caller stay as they are.

        `forget` and `retain` are parts of a split, torch data sets, data loaders or pairs of tensors; `ratios` are the
        shares r_k of each class that are forgotten, over the whole training set.
        """
        return self.run(model, forget, retain, ratios=ratios, val=val, progress=progress).model

    @final
    def run(
        self,
        model: nn.Module,
        forget: object,
        retain: object,
        *,
        ratios: Tensor | Sequence[float] | None = None,
        val: object | None = None,
        progress: Callable[[Progress], None] | None = None,
        saver: Saver | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Like `unlearn`, with the record of the run; `saver` keeps the state of an unfinished one."""
        record = Record(method=self.name, options=self.options())
        check_overlap(forget, retain)
        parts = to_part(forget, "forget"), to_part(retain, "retain"), None if val is None else to_part(val, "val")
        with guarded():
            shares = check_job(model, *parts, ratios, record.warnings)
            torch.manual_seed(derive(self.seed, "start"))
            student = _student(model)
            job = Job(
                model=student,
                original=model,
                forget=parts[0],
                retain=parts[1],
                val=parts[2],
                ratios=shares,
                seed=self.seed,
                device=device_of(model),
            )
            guard = Guard(job) if job.val else None
            loop = Loop(student, self.seed, job.meter, guard, progress, saver, interrupted)
            student.train(self.norm == "train")
            try:
                loop.run(self.phases(job))
            finally:
                _like(student, model)
            record.choices["confidence_shift"] = round(_effect(job), 3)
        if guard and guard.now < guard.before - 2:
            record.warnings.append(f"Never-seen retained classes lost {guard.before - guard.now:.1f} points.")
        record.samples, record.losses, record.checks = dict(job.meter), loop.history, loop.checks
        record.stopped = loop.stopped
        return Outcome(model=student, record=record)

    def options(self) -> dict[str, Any]:
        """All hyper-parameters by name, fit for JSON."""
        return {name: value if not callable(value) else _qualified(value) for name, value in asdict(self).items()}

    def sgd(self, modules: Sequence[nn.Module]) -> torch.optim.SGD:
        """Plain SGD over what may move in these modules, with the method's own `lr`, `momentum`, `weight_decay`."""
        own = self.options()
        return torch.optim.SGD(
            [p for module in modules for p in module.parameters() if p.requires_grad],
            lr=own["lr"],
            momentum=own["momentum"],
            weight_decay=own["weight_decay"],
        )


def _qualified(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"


def _student(model: nn.Module) -> nn.Module:
    student = copy.deepcopy(model)
    for parameter in student.parameters():
        parameter.grad = None
    return channels_last(student)


def _like(student: nn.Module, model: nn.Module) -> None:
    """Modes and memory layout as the caller's network has them, module by module."""
    for mine, theirs in zip(student.modules(), model.modules(), strict=True):
        mine.training = theirs.training
    for weight, like in zip(student.parameters(), model.parameters(), strict=True):
        weight.grad = None
        if weight.stride() != like.stride():
            weight.data = torch.empty_like(like.data, memory_format=torch.preserve_format).copy_(weight.data)


class Guard:
    """Collapse: accuracy on never-seen records of the retained classes below half the original's."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.before = self.now = job.retained_accuracy(job.original)

    def __call__(self) -> str | None:
        """Why the network is ruined, or None."""
        self.now = self._job.retained_accuracy(self._job.model)
        if self.now >= self.before / 2:
            return None
        return f"The network collapsed: {self.now:.1f} % on never-seen retained classes, {self.before:.1f} % before."


def _effect(job: Job) -> float:
    """Mean shift of φ on the forgotten records; none at all is a failure."""
    sample = job.forget.sample(1000)
    after, before = (confidence(predict(m, sample), sample.labels) for m in (job.model, job.original))
    if float((after - before).abs().max()) < 1e-4:
        raise UnlearningFailed(
            "The run had no effect: the confidence on the forgotten records is unchanged.",
            "Use a higher learning rate or more epochs.",
            job.model,
        )
    return float((after - before).mean())
