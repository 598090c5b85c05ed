"""A search by trials (Optuna) that can be killed at any moment and goes on as if it had not been.

Optuna's own files do not survive a kill in the middle of a write, so the trials are kept in a slot, and each time a
study in memory is made of them: what is tried next is a function of the trials so far, and of nothing else.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import Any

from .errors import Interrupted, UsageError
from .randomness import derive
from .store import Slot
from .unlearn.spaces import Choice, Range, Space, short

UNITS = {"s": 1, "m": 60, "h": 3600}
Stop = Callable[[], bool]
# Options, a slot for the unfinished run, a reason to stop -> the value (the smaller the better), why it failed or None.
Attempt = Callable[[dict[str, Any], Slot | None, Stop], tuple[float, str | None]]


@dataclass(frozen=True)
class Budget:
    """So many trials, or so many seconds.

    >>> Budget.parse("20m").seconds, Budget.parse("30").trials
    (1200.0, 30)
    """

    text: str
    trials: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """What a person writes: 30, 90s, 20m, 1.5h."""
        found = re.fullmatch(r"(\d{1,9})|(\d{1,9}(?:\.\d{1,9})?)([smh])", text.strip())
        if not found or float(found[1] or found[2]) == 0:
            raise UsageError(f"{text!r} is no budget.", "Give a time (90s, 20m, 1h) or a number of trials (30).")
        if found[1]:
            return cls(text.strip(), trials=int(found[1]))
        return cls(text.strip(), seconds=float(found[2]) * UNITS[found[3]])

    def over(self, trials: int, seconds: float) -> bool:
        """Whether so much uses it up; one trial, that of the default values, it always allows."""
        if self.seconds is None:
            return trials >= (self.trials or 0)
        return trials > 0 and seconds >= self.seconds


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What was tried, how good it was (the smaller the better), and what it cost."""

    options: dict[str, Any]
    value: float
    seconds: float
    failed: str | None = None


@dataclass(kw_only=True)
class Study:
    """The trials so far, the one with the default values first."""

    space: Space
    default: dict[str, Any]
    budget: Budget
    slots: Callable[[str], Slot] | None = None  # places to keep unfinished work in, by name
    interrupted: Stop = lambda: False
    clock: Callable[[], float] = time.monotonic
    trials: list[Trial] = field(default_factory=list)
    unfinished: float = 0.0  # seconds that went into a trial which was interrupted

    def run(self, attempt: Attempt, told: Callable[[Study], None] = lambda study: None) -> None:
        """Try until the budget is used up, earlier runs included."""
        self._load()
        while not self.budget.over(len(self.trials), self.spent) and self._try(attempt):
            told(self)

    @property
    def counted(self) -> list[Trial]:
        """The trials that the budget allows; an earlier run with a larger one may have made more."""
        starts = accumulate((trial.seconds for trial in self.trials), initial=0.0)
        return [
            t for n, (t, began) in enumerate(zip(self.trials, starts, strict=False)) if not self.budget.over(n, began)
        ]

    @property
    def spent(self) -> float:
        """Seconds, over all runs."""
        return self.unfinished + sum(trial.seconds for trial in self.trials)

    def _try(self, attempt: Attempt) -> bool:
        """One more trial; whether there was time for it."""
        if self.interrupted():
            raise Interrupted(f"Stopped after {len(self.trials)} trials.", "The same command continues.")
        slot, began = self._slot(f"trial {len(self.trials)}"), self.clock()
        options = suggest(self.space, self.trials) if self.trials else self.default
        try:
            value, failed = attempt(options, slot, lambda: self.interrupted() or self._late(began))
        except Interrupted:
            self.unfinished += self.clock() - began
            self._save()
            if self.interrupted():
                raise
            self._clear(slot)
            return False
        seconds, self.unfinished = self.unfinished + self.clock() - began, 0.0
        self.trials.append(Trial(options=options, value=value, seconds=seconds, failed=failed))
        self._clear(slot)  # before the trial is saved: killed in between, it is run again, and nothing is left behind
        self._save()
        return True

    def _late(self, began: float) -> bool:
        return self.budget.over(len(self.trials), self.spent + self.clock() - began)

    def _slot(self, name: str) -> Slot | None:
        return self.slots(name) if self.slots else None

    def _clear(self, slot: Slot | None) -> None:
        if slot:
            slot.clear()

    def _load(self) -> None:
        slot = self._slot("trials")
        if slot and (data := slot.load()):
            kept = json.loads(data)
            self.trials, self.unfinished = [Trial(**trial) for trial in kept["trials"]], kept["unfinished"]

    def _save(self) -> None:
        if slot := self._slot("trials"):
            state = {"trials": [asdict(trial) for trial in self.trials], "unfinished": self.unfinished}
            slot.save(json.dumps(state).encode())


def suggest(space: Space, trials: list[Trial]) -> dict[str, Any]:
    """What to try next: a function of the trials so far."""
    optuna = find_optuna()
    axes = {name: _axis(optuna, one) for name, one in space.items()}
    past = [optuna.trial.create_trial(params=t.options, distributions=axes, value=t.value) for t in trials]
    sampler = optuna.samplers.TPESampler(seed=derive(0, "trial", len(trials)) % 2**32)
    with _hushed(optuna):
        study = optuna.create_study(sampler=sampler)
        study.add_trials(past)
        found = study.ask(axes).params
    return {name: short(value) if isinstance(value, float) else value for name, value in found.items()}


def find_optuna() -> Any:
    """The package that suggests; it is an extra."""
    try:
        import optuna
    except ImportError:
        raise UsageError("Tuning needs Optuna, which is not installed.", "pip install 'sublimate[tune]'") from None
    return optuna


def _axis(optuna: Any, one: Range | Choice) -> Any:
    kinds = optuna.distributions
    if not isinstance(one, Range):
        return kinds.CategoricalDistribution(one)
    whole = isinstance(one.low, int) and isinstance(one.high, int)
    return (kinds.IntDistribution if whole else kinds.FloatDistribution)(one.low, one.high, log=one.log)


@contextmanager
def _hushed(optuna: Any) -> Iterator[None]:
    """Optuna announces every study; its loudness is the caller's and comes back."""
    loudness = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(loudness)
