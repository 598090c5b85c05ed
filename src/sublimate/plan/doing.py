"""One step, done once: looked up, locked, made, kept."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import IntegrityError, SublimateError
from ..files import make_folder, sha256
from ..store import Slot, Store
from .steps import Step, find_function, to_json

if TYPE_CHECKING:
    from ..loop import Progress

try:
    import fcntl
except ImportError:  # no such locks here: two processes may then do the same step, to the same end
    fcntl = None  # type: ignore[assignment]

Answer = str | SublimateError  # the digest of a result, or why there is none


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a step's function gets beside its parameters."""

    store: Store
    key: str
    inputs: Mapping[str, bytes]  # the results of the needs, by name
    interrupted: Callable[[], bool]  # whether to save and raise Interrupted
    progress: Callable[[Progress], None]
    device: str | None = None  # where the step shall run, if somebody chose
    slots: list[Slot] = field(default_factory=list)

    def slot(self, name: str = "run") -> Slot:
        """Where the state of the unfinished step is kept; a killed step finds it again, a finished one removes it."""
        self.slots.append(self.store.slot(f"{name} {self.key}"))
        return self.slots[-1]


def result(step: Step, store: Store) -> bytes:
    """What a finished step gave."""
    digest = store.find(step.key)
    if digest is None:
        raise IntegrityError(f"The store has no result of {step.name}.", "Run the plan again.")
    return store.get(digest)


def intact(step: Step, store: Store) -> str | None:
    """The digest of the step's result, if it is there and undamaged."""
    try:
        return sha256(result(step, store))
    except IntegrityError:  # a damaged one has been moved aside: it is made again
        return None


def attempt(
    step: Step, store: Store, interrupted: Callable[[], bool], progress: Callable[[Progress | None], None]
) -> Answer | None:
    """The digest of the step's result, made now unless it is there; None while another process is at it."""
    try:
        if digest := intact(step, store):
            return digest
        with _lock(store.root / "locks" / step.key) as mine:
            if not mine:
                return None
            # Another process may have made it between the look and the lock.
            return intact(step, store) or _make(step, store, interrupted, progress)
    except SublimateError as error:  # a new one of its kind: the old one may hold a whole network
        return type(error)(f"Step {step.name}: {error.cause}", error.remedy)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
        return SublimateError(f"Step {step.name}: {what}.", f"Look at {step.function}, then run the plan again.")


def _make(
    step: Step, store: Store, interrupted: Callable[[], bool], progress: Callable[[Progress | None], None]
) -> str:
    progress(None)
    # Sorted as in the key: no result depends on the order in which the needs are listed.
    inputs = {need.name: result(need, store) for need in sorted(step.needs, key=lambda need: need.name)}
    context = Context(
        store=store, key=step.key, inputs=inputs, interrupted=interrupted, progress=progress, device=step.device
    )
    with _threads(step.threads):
        made = find_function(str(step.function))(context, **step.parameters, **step.hints)
    digest = store.put(made if isinstance(made, bytes) else to_json(made, "The result"))
    store.link(step.key, digest)
    for slot in context.slots:
        slot.clear()
    return digest


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Whether the step is ours to do; the system frees the lock of a killed process."""
    make_folder(path.parent)
    with open(path, "ab") as file:
        yield _locked(file.fileno())


def _locked(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


@contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
