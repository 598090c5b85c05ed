"""What is refused, and what a run says when it fails."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from ..errors import InputRefused, SublimateError, UnlearningFailed
from ..inference import accuracy, predict
from .case import Case, chosen, problem, run, start

FLOOR = 40.0  # percent of never-seen retained records: the last good network is a good one


def check_divergence_gives_back_a_finite_network(case: Case) -> None:
    """A ruinous run raises, with the last good network."""
    if case.ruin is None:
        return
    toy = problem()
    rows = chosen(case, toy)
    val = rows.val_set
    assert val is not None
    failure = _raised(
        case, UnlearningFailed, f"options {dict(case.ruin)}", lambda: run(case, toy, case.ruin, rows=rows, val=val)
    )
    model = failure.model
    assert model is not None
    case.owes("no effect" not in failure.cause, "ruin has no effect; give options with which the run diverges.")
    finite = all(bool(torch.isfinite(t).all()) for t in model.state_dict().values() if t.is_floating_point())
    case.owes(finite, "after a divergence the network it gave back is not finite.")
    kept = val.where(rows.ratios[val.labels] < 1)
    right = accuracy(predict(model, kept), kept.labels)
    case.owes(right > FLOOR, f"after a divergence it gave back a network with {right:.1f} % accuracy.")


def check_no_effect_is_a_failure(case: Case) -> None:
    """A run that does nothing says so."""
    default = {"lr": 1e-30, "norm": "eval"} if case.has("lr") and not case.cls.anew else None
    idle = default if case.idle is None else case.idle
    if not case.cls.changes or not idle:
        return
    failure = _raised(case, UnlearningFailed, f"options {dict(idle)}", lambda: run(case, problem(), idle))
    case.owes("no effect" in failure.cause, f"a run that did nothing failed for a wrong reason: {failure}")


def check_missing_ratios_are_counted_and_said(case: Case) -> None:
    """Without ratios they are counted, with a warning."""
    warnings = run(case, problem(), ratios=None).record.warnings
    case.owes(any("ratios" in warning for warning in warnings), "no warning says that the ratios were counted.")


def check_refusals(case: Case) -> None:
    """Parts that are empty or overlap, and networks that are broken, frozen or of another kind."""
    toy = problem()
    rows, (model, records) = chosen(case, toy), copy.deepcopy(start(case.setup, toy))
    forget, few = rows.forget_set, rows.few_set
    broken, frozen = copy.deepcopy(model), copy.deepcopy(model).requires_grad_(False)
    next(broken.parameters()).data.view(-1)[0] = float("nan")
    narrow, regression = (nn.Sequential(nn.Flatten(), nn.Linear(64, outputs)) for outputs in (2, 1))
    wrong: dict[str, tuple[Any, ...]] = {
        "also in the retain set": (model, forget, forget),
        "forget set is empty": (model, forget.where(forget.labels < 0), few),
        "retain set is empty": (model, forget, few.where(few.labels < 0)),
        "non-finite weights": (broken, forget, few),
        "frozen": (frozen, forget, few),
        "head has 2": (narrow, rows.retain_set, forget),
        "shape": (nn.Conv2d(3, 4, 3), forget, few),
        "regression": (regression, forget, few),
        "ratios": (model, forget, few, [2.0, 0, 0, 0]),
    }
    for reason, (network, gone, kept, *ratios) in wrong.items():
        given = {"ratios": ratios[0] if ratios else None, "val": rows.val_set, "records": records}
        refused = _raised(case, InputRefused, reason, lambda n=network, f=gone, r=kept, g=given: _run(case, n, f, r, g))
        case.owes(reason in refused.cause, f"refused for a wrong reason, not {reason!r}: {refused}")


def check_missing_records_are_refused(case: Case) -> None:
    """Who needs records of training says so when there are none."""
    if case.cls.needs_records:
        refused = _raised(case, InputRefused, "records=None", lambda: run(case, problem(), records=None))
        case.owes("records" in refused.cause, f"missing records were refused for a wrong reason: {refused}")


def check_val_may_be_missing_or_is_asked_for(case: Case) -> None:
    """Who does not choose by never-seen records runs without them; who does says so when there are none."""
    if not case.judges:
        run(case, problem(), val=None)
        return
    refused = _raised(case, InputRefused, "val=None", lambda: run(case, problem(), val=None))
    case.owes("val" in refused.remedy, f"a missing val was refused without asking for it: {refused}")


def _run(case: Case, model: nn.Module, forget: Any, retain: Any, given: dict[str, Any]) -> object:
    return case.method().run(model, forget, retain, **given)


def _raised(case: Case, kind: Any, what: str, call: Any) -> Any:
    """The error that a call owes."""
    try:
        call()
    except SublimateError as error:
        case.owes(isinstance(error, kind), f"{what}: {type(error).__name__} instead of {kind.__name__}: {error}")
        return error
    raise AssertionError(f"{case.cls.__name__}: {what}: no {kind.__name__} was raised.")
