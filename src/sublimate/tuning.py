"""Choosing a method's options for one network and one request, on never-seen `val` records alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from .audits.evaluation import Scores, scores
from .checkpoint import digest_of
from .errors import InputRefused, UnlearningFailed
from .inference import predict
from .loop import Progress
from .networks import versions
from .splits import Part, Split
from .store import Slot
from .trials import Budget, Stop, Study, Trial, find_optuna
from .unlearn import find
from .unlearn import method as configured
from .unlearn.base import Factory
from .unlearn.judge import Judge
from .unlearn.spaces import space

SAMPLE = 2000  # records of each part that the distance to Retrain is measured on
COMPARED = ("acc_dr", "acc_df", "ta", "mia")
FAILED = 1000.0  # the value of a trial that ruined the network: worse than any that did not; less by what it kept


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What a Retrain scores, with `val` in place of the test set."""

    scores: Scores
    digest: str

    @classmethod
    def of(cls, retrain: nn.Module, split: Split) -> Reference:
        """Measure it."""
        return cls(scores=on_val(retrain, split), digest=digest_of(retrain.state_dict()))


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """All trials, the one with the default values first, and what they belong to."""

    method: str
    fixed: dict[str, Any]
    trials: tuple[Trial, ...]
    facts: dict[str, Any]  # fit for TOML

    @property
    def ranked(self) -> list[Trial]:
        """The best trial first; of equals the earlier."""
        return sorted(self.trials, key=lambda trial: trial.value)

    @property
    def options(self) -> dict[str, Any]:
        """The options to use: what was fixed (the seed is the next run's own), and the best that was found."""
        return {name: value for name, value in self.fixed.items() if name != "seed"} | self.ranked[0].options

    def preset(self) -> str:
        """The text of a preset file: the options, and whence they come."""
        tables = {
            "options": self.options,
            "tuned": self.facts,
            "tuned.versions": versions() | {"optuna": find_optuna().__version__},
        }
        return f"method = {_toml(self.method)}\n" + "".join(_table(name, values) for name, values in tables.items())


def tune(
    model: nn.Module,
    split: Split,
    method: str,
    budget: str,
    *,
    reference: Reference | None = None,
    fixed: Mapping[str, Any] | None = None,
    records: object | None = None,
    factory: Factory | None = None,
    progress: Callable[[Progress], None] | None = None,
    slots: Callable[[str], Slot] | None = None,
    interrupted: Stop = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> Tuned:
    """Search for the options with the least distance to Retrain, or (without one) the best `Judgement`.

    The first trial has the default values; `fixed` options are not searched; `slots` keeps unfinished work.
    """
    find_optuna()  # missed before anything is computed
    limit, given = Budget.parse(budget), dict(fixed or {})
    start = configured(method, **given)
    searched = {name: one for name, one in space(find(method)).items() if name not in given}
    if not searched:
        raise InputRefused(f"There is no option of {method} to search.", "Fix fewer with --set, or use it as it is.")
    objective = _objective(model, split, reference)

    def attempt(options: dict[str, Any], slot: Slot | None, stop: Stop) -> tuple[float, str | None]:
        try:
            outcome = configured(method, **(given | options)).run(
                model, split.forget_set, split.few_set, ratios=split.ratios, val=split.val_set, records=records,
                factory=factory, progress=progress, saver=slot, interrupted=stop,
            )  # fmt: skip
        except UnlearningFailed as failure:
            return FAILED - failure.kept, failure.cause
        return objective(outcome.model), None

    default = {name: getattr(start, name) for name in searched}
    study = Study(space=searched, default=default, budget=limit, slots=slots, interrupted=interrupted, clock=clock)
    study.run(attempt, lambda study: _tell(study, progress))
    return _result(method, given, study, split, reference)


def on_val(model: nn.Module, split: Split) -> Scores:
    """The paper's figures on a sample of each part, with `val` in place of the test set."""
    parts = {"retain": split.retain_set, "forget": split.forget_set, "test": _val(split)}
    samples = {name: part.sample(SAMPLE) for name, part in parts.items()}
    z = {name: predict(model, part) for name, part in samples.items()}
    return scores(z, {name: part.labels for name, part in samples.items()}, split.named_classes, split.gone_earlier)


def average_gap(mine: Scores, retrain: Scores) -> float:
    """Mean distance to Retrain, in points: accuracy kept, accuracy left, accuracy on never-seen records, the attack.

    >>> average_gap(Scores(acc_dr=98.0, acc_df=4.0, ta=90.0), Scores(acc_dr=99.0, acc_df=0.0, ta=91.0))
    2.0
    """
    gaps = [abs(gap) for name, gap in mine.gap(retrain).items() if name in COMPARED and gap is not None]
    return sum(gaps) / len(gaps)


def _objective(model: nn.Module, split: Split, reference: Reference | None) -> Callable[[nn.Module], float]:
    if reference is not None:
        return lambda erased: average_gap(on_val(erased, split), reference.scores)
    judge = Judge(model, split.forget_set, _val(split), split.remaining)
    return lambda erased: judge(erased).loss


def _val(split: Split) -> Part:
    if split.val_set is None:
        raise InputRefused(
            "Nothing can be chosen: the data has no test and no validation records.",
            "Give never-seen records (a test part).",
        )
    return split.val_set


def _tell(study: Study, progress: Callable[[Progress], None] | None) -> None:
    if progress:
        best = {"best": min(trial.value for trial in study.trials)}
        count, seconds = study.budget.trials, study.budget.seconds
        if count is not None:
            progress(Progress("trials", len(study.trials), count, best))
        elif seconds is not None:
            progress(Progress("seconds", round(min(study.spent, seconds)), round(seconds), best))


def _result(method: str, fixed: dict[str, Any], study: Study, split: Split, reference: Reference | None) -> Tuned:
    trials = tuple(study.counted)
    best = min(trials, key=lambda trial: trial.value)
    if best.failed is not None:
        raise UnlearningFailed(
            f"All {len(trials)} trials failed, the last one so: {trials[-1].failed}",
            "Give a larger --budget or --few, or fix a gentle value, say --set lr=1e-5.",
        )
    facts = {
        "objective": "distance to Retrain" if reference else "judgement",
        "default": trials[0].value,
        "best": best.value,
        "trials": len(trials),
        "failed": sum(trial.failed is not None for trial in trials),
        "budget": study.budget.text,
        "few": "all" if len(split.few) == len(split.retain) else len(split.few),
        "seed": fixed.get("seed", 0),
        "split": split.fingerprint,
        "reference": reference.digest if reference else "none",
    }
    return Tuned(method=method, fixed=fixed, trials=trials, facts=facts)


def _table(name: str, values: Mapping[str, Any]) -> str:
    return f"\n[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: Any) -> str:
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
