"""All steps of a plan, in order, here or elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..errors import Interrupted, SublimateError
from ..store import Store
from .doing import Answer, attempt, intact
from .steps import Step, order

if TYPE_CHECKING:
    from ..loop import Progress

PAUSE = 0.2  # seconds from one look at what others do to the next
Tell = Callable[[str, "Progress | None"], None]
Workers = Callable[[list[Step]], list[tuple[Step, Answer]]]  # of the steps that are ready, those that have ended


@dataclass(frozen=True, kw_only=True)
class Advance:
    """What a progress callback is told when a step begins, goes on (`within`; not on Ray) and has ended."""

    done: int
    total: int
    name: str
    within: Progress | None = None


@dataclass(kw_only=True)
class Ran:
    """What became of the steps, by name: digests, typed errors, and those that needed a failed one."""

    done: dict[str, str] = field(default_factory=dict)
    failed: dict[str, SublimateError] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()


def run(
    steps: Iterable[Step],
    store: Store,
    *,
    workers: str = "local",
    progress: Callable[[Advance], None] | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Ran:
    """Run the steps and all they need, each once; a failed one stops only those that need it.

    `workers` is "local" (this process), "local-ray" (the cores of this machine), or the address of a Ray cluster whose
    machines all see the folder of the store.  Several processes may run one plan at once: they share the work.
    """
    ordered, ran, store = order(steps), Ran(), Store(store.root.absolute())
    waiting = {step.name: step for step in ordered}

    def tell(name: str, within: Progress | None = None) -> None:
        if progress:
            ended = len(ran.done) + len(ran.failed)
            progress(Advance(done=ended, total=len(ordered), name=name, within=within))

    with _workers(workers, ordered, store, tell, interrupted) as work:
        while ready := [step for step in waiting.values() if all(need.name in ran.done for need in step.needs)]:
            if interrupted():
                raise Interrupted(f"Stopped after {len(ran.done)} of {len(ordered)} steps.", "The same plan continues.")
            for step, answer in work(ready):
                _note(ran, step, answer)
                del waiting[step.name]
                tell(step.name)
    ran.skipped = tuple(waiting)
    return ran


def price(steps: Iterable[Step], store: Store) -> tuple[list[Step], list[Step]]:
    """The steps that are done and those to do, in the order in which they would run."""
    looked = [(step, intact(step, store) is not None) for step in order(steps)]
    return [step for step, done in looked if done], [step for step, done in looked if not done]


def _note(ran: Ran, step: Step, answer: Answer) -> None:
    if isinstance(answer, Interrupted):
        raise answer
    if isinstance(answer, str):
        ran.done[step.name] = answer
    else:
        ran.failed[step.name] = answer


@contextmanager
def _workers(
    kind: str, steps: list[Step], store: Store, tell: Tell, interrupted: Callable[[], bool]
) -> Iterator[Workers]:
    if kind != "local":
        from .cluster import on_ray

        with on_ray(kind, steps, store, tell, PAUSE) as work:
            yield work
        return

    def here(ready: list[Step]) -> list[tuple[Step, Answer]]:
        for step in ready:
            answer = attempt(step, store, interrupted, partial(tell, step.name))
            if answer is not None:
                return [(step, answer)]
        time.sleep(PAUSE)  # other processes are at all of them
        return []

    yield here
