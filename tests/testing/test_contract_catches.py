"""The contract catches methods that break it, each for the right reason; and lets a good one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sublimate.data.batches import Batch, one_pass
from sublimate.inference import predict
from sublimate.phase import Losses, Phase
from sublimate.testing import check_method
from sublimate.testing.case import problem, start
from sublimate.unlearn.base import Unlearner
from sublimate.unlearn.card import WHOLE_CLASSES, Card
from sublimate.unlearn.job import Job

QUICK = {"lr": 0.05, "epochs": 2}
RUIN = {"lr": 1e6, "epochs": 5}


@dataclass(frozen=True, kw_only=True)
class Good(Unlearner):
    """Every record of D_f becomes one of the next class, and D_r stays."""

    name = "good"
    card = Card(title="Good", source="none", formula="min CE(f(x), y+1)", authors={"lr": 0.1})
    lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 0.0
    epochs: int = 4
    batch_size: int = 16

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        batches, rows = one_pass(forget, self.batch_size)
        return {"forget": self.epochs * rows, "retain": self.epochs * batches * min(self.batch_size, retain)}

    def phases(self, job: Job) -> Iterator[Phase]:
        few = job.batches(job.retain, self.batch_size, cycle=True)

        def move(batch: Batch) -> Losses:
            kept = few.at(batch.t)
            return {
                "retain": F.cross_entropy(job.logits(job.retain, kept.x), kept.y),
                "forget": F.cross_entropy(job.logits(job.forget, batch.x), (batch.y + 1) % job.classes),
            }

        yield Phase(
            name="good",
            over=job.batches(job.forget, self.batch_size),
            epochs=self.epochs,
            steps=(move,),
            optimizer=self.sgd([job.model]),
            lr=self.lr,
        )


def test_a_good_method_passes() -> None:
    check_method(Good, quick=QUICK, enough={"epochs": 6}, ruin=RUIN)


class Meddling(Good):
    """Does something before every step."""

    def phases(self, job: Job) -> Iterator[Phase]:
        for phase in super().phases(job):

            def step(batch: Batch, phase: Phase = phase) -> Losses:
                self.meddle(job)
                return phase.steps[0](batch)

            yield replace(phase, steps=(step,))

    def meddle(self, job: Job) -> None:
        raise NotImplementedError


class ChangesTheOriginal(Meddling):
    """Works on the caller's network."""

    @torch.no_grad()
    def meddle(self, job: Job) -> None:
        next(job.original.parameters()).add_(1e-3)


class DrawsGlobally(Meddling):
    """Draws from the global state of numpy."""

    @torch.no_grad()
    def meddle(self, job: Job) -> None:
        next(p for p in job.model.parameters() if p.requires_grad).add_(1e-3 * np.random.rand())


class ReadsTest(Meddling):
    """Looks at what will judge it."""

    def meddle(self, job: Job) -> None:
        job.forget.data.read(job.forget.data.test[:1])


class TrainsOnVal(Meddling):
    """Takes never-seen records otherwise than to judge."""

    def meddle(self, job: Job) -> None:
        if job.val:
            job.val.data.read(job.val.rows[:4])


class ReadsUncounted(Meddling):
    """Reads retained records past the meter."""

    def meddle(self, job: Job) -> None:
        job.retain.data.read(job.retain.rows[:4])


class PredictsUncounted(Meddling):
    """The same through predict."""

    def meddle(self, job: Job) -> None:
        predict(job.model, job.retain)


class MovesFrozen(Meddling):
    """Shrinks all weights, those that may not move as well."""

    @torch.no_grad()
    def meddle(self, job: Job) -> None:
        for p in job.model.parameters():
            p.mul_(0.999)


class LeavesHooks(Meddling):
    """Hangs on."""

    def meddle(self, job: Job) -> None:
        next(job.model.children()).register_forward_hook(lambda *_: None)


class ChangesTheData(Meddling):
    """Writes into the caller's images, each time something else."""

    times: ClassVar[list[None]] = []

    def meddle(self, job: Job) -> None:
        self.times.append(None)
        if isinstance(job.forget.data.images, Tensor):
            job.forget.data.images[-1] = len(self.times) % 256


class DeclaresTooMuch(Good):
    """Declares a pass too many."""

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        return {part: rows + forget for part, rows in super().reads(forget, retain).items()}


class DeclaresUnread(Good):
    """Declares a part of no use."""

    def reads(self, forget: int, retain: int) -> dict[str, int]:
        return {**super().reads(forget, retain), "val": 24}


class CountsInTheGenerator(Good):
    """Keeps a state that no file keeps."""

    def phases(self, job: Job) -> Iterator[Phase]:
        for phase in super().phases(job):
            done = torch.zeros(())

            def step(batch: Batch, phase: Phase = phase, done: Tensor = done) -> Losses:
                done.add_(1)
                return {name: loss * (1 + 0.01 * done) for name, loss in phase.steps[0](batch).items()}

            yield replace(phase, steps=(step,))


class Swallows(Good):
    """Carries on when records cannot be read."""

    def phases(self, job: Job) -> Iterator[Phase]:
        for phase in super().phases(job):

            def step(batch: Batch, phase: Phase = phase) -> Losses:
                try:
                    return phase.steps[0](batch)
                except Exception:
                    return {}

            yield replace(phase, steps=(step,))


class DoesNothing(Good):
    """Rests in every step."""

    def phases(self, job: Job) -> Iterator[Phase]:
        for phase in super().phases(job):
            yield replace(phase, steps=(lambda batch: {},))


class OnlyHarms(Good):
    """Forgets everything."""

    def phases(self, job: Job) -> Iterator[Phase]:
        for phase in super().phases(job):
            yield replace(phase, lr=0.0)
        for p in job.model.parameters():
            p.data.mul_(not p.requires_grad)


class UnknownAuthors(Good):
    """Names values of options that it has not."""

    card = Card(title="Good", source="none", formula="none", authors={"rate": 0.1})


class WithoutFormula(Good):
    """Does not say what it computes."""

    card = Card(title="Good", source="none", formula=" ")


class Undocumented(Good):
    __doc__ = None


class Stubborn(Good):
    """Says that it does not change the network."""

    changes = False


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (ChangesTheOriginal, "changed the caller's weights"),
        (DrawsGlobally, "the same seed gave other bytes"),
        (ReadsTest, "which are test rows"),
        (TrainsOnVal, "rows of val were read, 0 were counted"),
        (ReadsUncounted, "rows of retain were read"),
        (PredictsUncounted, "retained records were read by predict"),
        (MovesFrozen, "is frozen"),
        (LeavesHooks, "other hooks than the caller's"),
        (DeclaresTooMuch, "but the run read"),
        (DeclaresUnread, "names other parts than forget and retain"),
        (CountsInTheGenerator, "a continued run ended in other bytes"),
        (Swallows, "was swallowed"),
        (DoesNothing, "no effect"),
        (OnlyHarms, "accuracy on retained records fell"),
        (UnknownAuthors, "which are no options"),
        (WithoutFormula, "the card has no formula"),
        (Undocumented, "no docstring"),
        (Stubborn, "against changes=False"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_bad_method_is_caught(bad: type[Unlearner], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        check_method(bad, quick=QUICK, enough={"epochs": 6}, ruin=RUIN)


def test_a_method_that_writes_into_the_data_is_caught() -> None:
    try:
        with pytest.raises(AssertionError, match="changed the caller's data"):
            check_method(ChangesTheData, quick=QUICK, enough={"epochs": 6}, ruin=RUIN)
    finally:
        problem.cache_clear()  # its data is spoilt
        start.cache_clear()


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ({"quick": QUICK, "ruin": {}}, "no UnlearningFailed"),
        ({"quick": QUICK, "idle": {"epochs": 3}}, "no UnlearningFailed"),
        ({"quick": {"lr": 0.01, "epochs": 1}, "forgets": False, "judges": True}, "val=None: no InputRefused"),
        ({"quick": QUICK, "keeps": 100.1}, "below 100.1"),
        ({"quick": QUICK, "ruin": {"lr": 1e-30, "norm": "eval"}}, "ruin has no effect"),
    ],
)
def test_what_is_expected_is_checked(expected: dict[str, Any], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        check_method(Good, **{"enough": {"epochs": 6}} | expected)


class WholeClassesOnly(Good):
    """Is defined for whole classes."""

    scenarios = WHOLE_CLASSES


class NeedsRecords(Good):
    """Needs what training kept."""

    needs_records = True


def test_declared_limits_are_kept() -> None:
    expected: dict[str, Any] = {"quick": QUICK, "enough": {"epochs": 6}, "ruin": RUIN}
    check_method(WholeClassesOnly, **expected)
    check_method(NeedsRecords, **expected, setup=lambda toy: (toy.model, "kept"))
    with pytest.raises(AssertionError, match="there are no such records"):
        check_method(NeedsRecords, **expected)
