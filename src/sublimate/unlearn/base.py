"""What all methods share: the final `unlearn` around a method's phases."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor, nn

from ..errors import InputRefused, UnlearningFailed, check_is
from ..inference import GIVE_MODEL, device_of, gradients_on
from ..loop import Loop, Observe, Progress, Saver
from ..models.memory import channels_last
from ..phase import Measured, Phase
from ..randomness import derive, guarded
from .card import SCENARIOS, Card
from .checks import check_job, check_overlap, check_support, to_part
from .guard import Guard, effect, told
from .job import Job
from .options import check_values

Factory = Callable[[], nn.Module]


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
    """The erased network, the record of the run, and what training kept, as far as it is still true."""

    model: nn.Module
    record: Record
    records: Any = None


@dataclass(frozen=True, kw_only=True)
class Unlearner(ABC):
    """A method: a frozen record of hyper-parameters whose `phases` are the formula; the loop is not its business.

    What a method declares stands on the class: `few` (how many retained records it asks for), `scenarios`, whether it
    starts `anew` from random weights, whether it `changes` the network at all, whether it `needs_records` of training,
    and its `revision`, raised when the same options lead to another network: a bench then runs it again.
    """

    name: ClassVar[str]
    card: ClassVar[Card]
    few: ClassVar[int | Literal["all"]] = "all"
    scenarios: ClassVar[tuple[str, ...]] = SCENARIOS
    anew: ClassVar[bool] = False
    changes: ClassVar[bool] = True
    needs_records: ClassVar[bool] = False
    revision: ClassVar[str] = ""
    seed: int = 0
    norm: Literal["eval", "train"] = "train"  # mode of the whole network during the run: batch norm, dropout

    def __post_init__(self) -> None:
        check_values(self)

    @abstractmethod
    def phases(self, job: Job) -> Iterator[Phase]:
        """The phases of the method, in order; whatever they need of the untouched network is `job.original`."""

    @abstractmethod
    def reads(self, forget: int, retain: int) -> dict[str, int]:
        """How many records of "forget" and "retain" a run reads (at most, if it may stop early)."""

    def makes(self) -> int:
        """How many images of its own making a run passes through the network; most methods make none."""
        return 0

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
        factory: Factory | None = None,
    ) -> nn.Module:
        """Return an erased copy of `model`; the model, the data and the random state of the caller stay as they are.

        `forget` and `retain` are parts of a split, torch data sets, data loaders or pairs of tensors; `ratios` are the
        shares r_k of each class that are forgotten, over the whole training set; `records` is what training kept for
        the method; `factory` builds the network anew where its weights cannot be reset.
        """
        given: dict[str, Any] = {"ratios": ratios, "val": val, "records": records, "factory": factory}
        return self.run(model, forget, retain, **given, progress=progress).model

    @final
    def run(
        self,
        model: nn.Module,
        forget: object,
        retain: object,
        *,
        ratios: Tensor | Sequence[float] | None = None,
        val: object | None = None,
        records: object | None = None,
        factory: Factory | None = None,
        progress: Callable[[Progress], None] | None = None,
        saver: Saver | None = None,
        interrupted: Callable[[], bool] = lambda: False,
        observe: Observe | None = None,
    ) -> Outcome:
        """Like `unlearn`, with the record of the run; `saver` keeps the state of an unfinished one.

        `observe` looks at the network at the end of every epoch: it is told the epochs done and those in all so far.
        """
        check_is("model", model, nn.Module, GIVE_MODEL)
        record = Record(method=self.name, options=self.options())
        check_overlap(forget, retain)
        parts = to_part(forget, "forget"), to_part(retain, "retain"), None if val is None else to_part(val, "val")
        with gradients_on(), guarded():
            shares = check_job(model, *parts, ratios, record.warnings)
            check_support(self, parts[0], shares, records)
            torch.manual_seed(derive(self.seed, "start"))
            job = Job(
                model=_student(model),
                original=model,
                forget=parts[0],
                retain=parts[1],
                val=parts[2],
                ratios=shares,
                seed=self.seed,
                device=device_of(model),
                records=records,
                factory=factory,
            )
            self._run(job, record, progress, saver, interrupted, observe)
        return Outcome(model=job.model, record=record, records=job.records if self.needs_records else None)

    def _run(
        self,
        job: Job,
        record: Record,
        progress: Callable[[Progress], None] | None,
        saver: Saver | None,
        interrupted: Callable[[], bool],
        observe: Observe | None,
    ) -> None:
        guard = Guard(job) if job.val else None
        # A fresh network is no ruined one: where a method starts anew, only its end is judged.
        judge = None if self.anew else guard
        loop = Loop(
            job.model, self.seed, job.meter, judge, progress, saver, interrupted, choices=job.choices, observe=observe
        )
        job.model.train(self.norm == "train")
        try:
            try:
                loop.run(self.phases(job))
            finally:
                _like(job.model, job.original)
            if self.anew and guard and (reason := guard()):
                raise UnlearningFailed(reason, "Train for more epochs.")
            if self.changes:
                record.choices["confidence_shift"] = told(effect(job.model, job.original, job.forget))
        except UnlearningFailed as failure:
            failure.samples, failure.kept = dict(job.meter), guard.kept if guard else 0.0
            if self.anew:  # what begins at random has no good state of its own
                failure.model = copy.deepcopy(job.original)
            raise
        if guard and guard.lost > 2:
            record.warnings.append(f"Never-seen retained classes lost {guard.lost:.1f} points.")
        record.samples, record.losses, record.checks = dict(job.meter), loop.history, loop.checks
        record.choices |= job.choices
        record.stopped = loop.stopped

    def options(self) -> dict[str, Any]:
        """All hyper-parameters by name, fit for JSON."""
        return {name: value if not callable(value) else _qualified(value) for name, value in asdict(self).items()}

    def sgd(self, modules: Sequence[nn.Module]) -> torch.optim.SGD:
        """Plain SGD over what may move in these modules, with the method's own `lr`, `momentum`, `weight_decay`."""
        own = self.options()
        return torch.optim.SGD(
            _movable(modules), lr=own["lr"], momentum=own["momentum"], weight_decay=own["weight_decay"]
        )

    def adam(self, modules: Sequence[nn.Module]) -> torch.optim.Adam:
        """Adam over what may move in these modules, with the method's own `lr`."""
        return torch.optim.Adam(_movable(modules), lr=self.options()["lr"])


def _movable(modules: Sequence[nn.Module]) -> list[nn.Parameter]:
    return [p for module in modules for p in module.parameters() if p.requires_grad]


def _qualified(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"


def _student(model: nn.Module) -> nn.Module:
    try:
        student = copy.deepcopy(model)
    except Exception as error:  # hooks, weights that are no leaves, and what else the user's network may hold
        raise InputRefused(
            f"The network cannot be copied ({next(iter(str(error).splitlines()), type(error).__name__)}).",
            "Give one that copy.deepcopy copies, say a fresh one with its state dict.",
        ) from error
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
