"""The one loop: every training and every unlearning runs through here.

A method describes phases; the loop updates, guards against ruin, reports, saves, and continues a killed run so that
it ends in the same bytes.
"""

from __future__ import annotations

import copy
import io
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .data.batches import Meter
from .errors import Interrupted, UnlearningFailed
from .inference import modes_kept, non_finite
from .phase import Losses, Measured, Phase
from .randomness import derive, guarded

Observe = Callable[[nn.Module, float, float], None]  # the network, the epochs done and the epochs in all so far


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told after every iteration."""

    phase: str
    done: int
    total: int
    losses: Mapping[str, float]


class Saver(Protocol):
    """Where the state of an unfinished run is kept."""

    def load(self) -> bytes | None:
        """The last whole state, if any."""

    def save(self, data: bytes) -> None:
        """Replace the state, whole or not at all."""


@dataclass
class Loop:
    """Runs phases over a network; what it saw is in `history`, `checks`, `meter` and `stopped`."""

    model: nn.Module
    seed: int
    meter: Meter
    guard: Callable[[], str | None] | None = None  # at every epoch's end: a reason why the network is ruined, or None
    progress: Callable[[Progress], None] | None = None
    saver: Saver | None = None
    interrupted: Callable[[], bool] = lambda: False
    history: list[Measured] = field(default_factory=list)  # losses, per iteration
    checks: list[Measured] = field(default_factory=list)  # what the watch measured
    stopped: str = "all epochs done"
    choices: dict[str, Any] = field(default_factory=dict)  # of the method; saved with the run
    observe: Observe | None = None  # looks at the network along the run, and changes nothing
    _epochs: int = 0  # of the phases before the present one
    _good: dict[str, Tensor] = field(default_factory=dict)
    _masks: set[str] = field(default_factory=set)  # what was infinite from the start is meant to be
    _saved_at: float = field(default_factory=time.monotonic)
    _save_seconds: float = 0.0

    def run(self, phases: Iterable[Phase]) -> None:
        """Run (or continue) all phases."""
        state = self._load()
        self._good, self._masks = self._snapshot(), non_finite(self.model)
        for number, phase in enumerate(phases):
            if not state or number == state["phase"]:
                start = self._restore(phase, state) if state else 0
                state = None
                self._run(phase, number, start)
            self._epochs += phase.epochs

    def _run(self, phase: Phase, number: int, start: int) -> None:
        done = start
        for t in range(start, phase.iterations):
            self._iterate(phase, number, t)
            done = t + 1
            if phase.optimizer and phase.checks(done):
                self._check()
            if self._watched(phase, done):
                break
            if phase.shows(done):
                self._show(phase, done)
            self._save_if_due(phase, number, done)
        if phase.finish:
            phase.finish()
            self._check()
        self._show(phase, done)

    def _show(self, phase: Phase, done: int) -> None:
        if self.observe:
            epochs = done / max(1, len(phase.over))
            with guarded(), modes_kept(self.model):
                self.observe(self.model, self._epochs + epochs, self._epochs + phase.epochs)

    def _watched(self, phase: Phase, done: int) -> bool:
        """Look, when it is time; whether there is a reason to stop."""
        if not phase.watch or done % phase.every:
            return False
        measured, reason = phase.watch()
        self.checks.append({"iteration": done, **measured})
        if reason:
            self.stopped = reason
            self._check()
        return reason is not None

    def _iterate(self, phase: Phase, number: int, t: int) -> None:
        torch.manual_seed(derive(self.seed, "step", number, t))  # dropout and the like: a function of the place alone
        batch, seen = phase.over.at(phase.first + t), Measured()
        for step in phase.steps:
            losses = step(batch)
            if losses and phase.optimizer:
                self._update(phase, phase.optimizer, losses, t)
                seen |= {name: float(value.detach()) for name, value in losses.items()}
        self.history.append(seen)
        if self.progress:
            self.progress(Progress(phase.name, t + 1, phase.iterations, seen))

    def _update(self, phase: Phase, optimizer: torch.optim.Optimizer, losses: Losses, t: int) -> None:
        loss = sum(losses.values(), start=torch.zeros((), device=next(iter(losses.values())).device))
        if not bool(torch.isfinite(loss)):
            self._fail(f"The loss became non-finite in iteration {t + 1} of {phase.name}.")
        for group in optimizer.param_groups:
            group["lr"] = phase.lr * phase.schedule(t / phase.iterations)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if phase.clip is not None:
            nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], phase.clip)
        optimizer.step()
        if phase.after:
            phase.after()

    def _check(self) -> None:
        if non_finite(self.model) - self._masks:
            self._fail("The weights became non-finite.")
        if self.guard and (reason := self.guard()):
            self._fail(reason)
        self._good = self._snapshot()

    def _fail(self, cause: str) -> None:
        self.model.load_state_dict(self._good)
        raise UnlearningFailed(cause, "Use a lower learning rate or fewer epochs.", self.model)

    def _snapshot(self) -> dict[str, Tensor]:
        return copy.deepcopy(self.model.state_dict())

    def _save_if_due(self, phase: Phase, number: int, done: int) -> None:
        stop = self.interrupted()
        # Saving may take a twentieth of the time, no more.
        due = time.monotonic() - self._saved_at > max(1.0, 20 * self._save_seconds)
        if self.saver and (stop or due):
            began = time.monotonic()
            self.saver.save(self._dump(phase, number, done))
            self._saved_at = time.monotonic()
            self._save_seconds = self._saved_at - began
        if stop:
            kept = "The state is saved: the same command continues." if self.saver else "Start it again."
            raise Interrupted(f"Stopped in iteration {done} of {phase.name}.", kept)

    def _dump(self, phase: Phase, number: int, done: int) -> bytes:
        buffer = io.BytesIO()
        state = {
            "phase": number,
            "done": done,
            "model": self.model.state_dict(),
            "good": self._good,
            "optimizer": phase.optimizer.state_dict() if phase.optimizer else {},
            "modules": {name: module.state_dict() for name, module in phase.modules.items()},
            "history": self.history,
            "checks": self.checks,
            "meter": dict(self.meter),
            "choices": self.choices,
            "stopped": self.stopped,
        }
        torch.save(state, buffer)
        return buffer.getvalue()

    def _load(self) -> dict[str, Any] | None:
        data = self.saver.load() if self.saver else None
        if data is None:
            return None
        state: dict[str, Any] = torch.load(io.BytesIO(data), weights_only=True)
        return state

    def _restore(self, phase: Phase, state: dict[str, Any]) -> int:
        self.model.load_state_dict(state["model"])
        if phase.optimizer:
            phase.optimizer.load_state_dict(state["optimizer"])
        for name, module in phase.modules.items():
            module.load_state_dict(state["modules"][name])
        self._good, self.history, self.checks = state["good"], state["history"], state["checks"]
        self.choices.update(state["choices"])
        self.stopped = state["stopped"]
        self.meter.clear()
        self.meter.update(state["meter"])
        return int(state["done"])
