"""What must hold before anything may be concluded: a fair attack, something to erase, a network that still works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ..errors import InputRefused
from ..inference import accuracy
from .harm import Parts, staying
from .intervals import Interval
from .outputs import Outputs
from .population import ALPHA, SCORERS, SURE, Compared, Scorer, compare, split_control
from .result import Gate, Skipped
from .shares import share_difference
from .statistics import detectable, resolvable
from .tails import class_tests

KEPT = 0.8  # of the original's accuracy: what lost more knows too little to show a trace
MOST_DELTA = 0.05  # of |AUC − .5| that may count as alike


def fair_attack(control: Outputs, seed: int, scorers: Mapping[str, Scorer] = SCORERS) -> Gate:
    """Two halves of never-seen records must not be told apart."""
    says = "Never-seen records cannot be told from other never-seen records."
    try:
        telling = compare(*split_control(control, seed), scorers).different(SURE)
    except InputRefused:
        says = "There are not two never-seen records of any class, so the attack cannot be checked."
        return Gate(name="fair attack", passed=False, says=says)
    if telling:
        says = f"The attack is not fair: by {telling[0]} it tells never-seen records from other never-seen ones."
    return Gate(name="fair attack", passed=not telling, says=says)


def fair_control(forget: Outputs, control: Outputs) -> Gate:
    """Every forgotten record needs never-seen ones of its class beside it."""
    alone = int((~torch.isin(forget.labels, control.labels)).sum())
    says = "There are never-seen records of all classes of the forgotten ones."
    if alone:
        says = f"Of {alone} of {len(forget)} forgotten records nothing can be said: no never-seen one has their class."
    return Gate(name="fair control", passed=not alone, says=says)


def members_seen(retain: Outputs, never: Outputs, scorers: Mapping[str, Scorer] = SCORERS) -> Gate:
    """Records that the network was trained on must be told from never-seen ones, or what is alike shows nothing.

    A network that was trained on the control as well treats forgotten and control records alike, and knows both.
    """
    says = "Retained records are told from never-seen ones: the attack sees what the network was trained on."
    try:
        compared = compare(retain, never, scorers)
    except InputRefused:
        says = "No class has both retained and never-seen records, so it cannot be seen whether the attack works."
        return Gate(name="members seen", passed=False, says=says)
    telling = [name for name in compared.different() if compared.found[name].value > 0.5]
    if not telling:
        says = "The attack is blind here: not even retained records are told from never-seen ones. Either the network "
        says += "learns nothing by heart, or the records that are given as never seen were trained on."
    return Gate(name="members seen", passed=bool(telling), says=says)


def something_to_erase(original: Compared) -> Gate:
    """The original must know the forgotten records better than never-seen ones, or nothing can be shown to be gone."""
    told = original.different()
    telling = [name for name in told if original.found[name].value > 0.5]
    says = "Nothing measurable to erase: the original treats the records like ones it never saw."
    if telling:
        says = f"The original knew the forgotten records: AUC {original.found[telling[0]].value:.3f} by {telling[0]}."
    elif told:
        says = (
            f"Nothing measurable to erase: by {told[0]} the original knows the forgotten records less than never-seen "
            "ones. Either the score has the wrong sign, or the never-seen records are of another kind."
        )
    return Gate(name="something to erase", passed=bool(telling), says=says)


def still_works(before: Parts, after: Parts, gone: Tensor) -> Gate:
    """A network that was ruined is not told apart either: it may fail, but it must not pass."""
    was, now = (accuracy(out.z, out.labels) for out in (staying(before, gone), staying(after, gone)))
    says = f"Accuracy on the classes that stay: {now:.1f} %, {was:.1f} % before."
    if now < KEPT * was:
        says = f"The network lost too much to be judged. {says}"
    return Gate(name="still works", passed=now >= KEPT * was, says=says)


def enough_records(delta: float, null_se: float, scores: int = len(SCORERS)) -> Gate:
    """Could equality within δ be shown with so many records, looked at by so many scores?"""
    says = f"Differences of {delta:.3f} can be told from none."
    if not resolvable(delta, null_se):
        found = detectable(null_se, alpha=ALPHA / scores)
        smallest = "no leak at all" if found is None else f"no leak smaller than |AUC − .5| = {found:.3f}"
        says = f"Too few records to show equality within {delta:.3f}: with so many, {smallest} is found."
    return Gate(name="enough records", passed=resolvable(delta, null_se), says=says)


def carried_out(undone: Sequence[Skipped]) -> Gate:
    """Tier 2 passes no network that its attacks could not be carried out on: that is how a network could hide."""
    says = "The attacks on the network itself were carried out, as far as there are enough records for them."
    if undone:
        says = "Not all attacks could be carried out. " + " ".join(f"{_began(s.what)}: {s.why}" for s in undone)
    return Gate(name="attacks carried out", passed=not undone, says=says)


def _began(text: str) -> str:
    return text[:1].upper() + text[1:]


def clean_reference(compared: Compared, out: Parts, gone: Tensor, verified: bool = True) -> Gate:
    """A Retrain that knows the forgotten records is none: not by a score, nor by what it calls right, nor does it
    name a class that is wholly forgotten (`gone`).

    One that knows them less than never-seen ones is clean: then the records are of another kind, which is said.
    """
    right = {name: one.z.argmax(1) == one.labels for name, one in out.items()}
    groups = out["forget"].labels, out["control"].labels
    better = share_difference(right["forget"], right["control"], groups)
    says = "The reference treats the forgotten records like never-seen ones."
    told = compared.different()
    below = [name for name in told if compared.found[name].value < 0.5]
    telling = [] if _unsure_of_labels(below) else [name for name in told if name not in below]
    if telling:
        says = f"The reference is not clean: by {telling[0]} its AUC is {_figures(compared.found[telling[0]])}. Either "
        says += "it was trained on forgotten records, or they are easier by nature than the never-seen ones: then no "
        says += "network passes, and never-seen records of the same kind are needed."
    elif below:
        says = "The reference knows the forgotten records less than never-seen ones, so they are of another kind: by "
        says += f"{below[0]} its AUC is {_figures(compared.found[below[0]])}. It is used as a yardstick."
    alarm = better.p < SURE and better.points > 0
    if alarm:
        f, c, r = (accuracy(out[name].z, out[name].labels) for name in ("forget", "control", "retain"))
        says = f"The reference is not clean: it calls {f:.1f} % of the forgotten records right, {c:.1f} % of the "
        says += f"never-seen ones and {r:.1f} % of the retained ones. It may belong to another split."
    known = [test for test in class_tests(out["control"], gone) if test.outcome == "different"]
    if known:
        says = f"The reference is not clean: {known[0].detail['says']}"
    if not verified:
        says += " Unverified: which records it was trained on is not known but by its answers."
    return Gate(name="clean reference", passed=not (telling or alarm or known), says=says)


def _unsure_of_labels(below: Sequence[str]) -> bool:
    """Who knows a record is not less sure of its label than of others; being sure of some class is another matter."""
    return bool({"confidence", "loss", "margin"} & set(below))


def _figures(i: Interval) -> str:
    return f"{i.value:.3f} ({i.low:.3f} to {i.high:.3f})"


def tolerance(original: Compared) -> float | None:
    """δ: half of what the original showed, at most .05; None when it showed nothing."""
    return min(MOST_DELTA, original.excess / 2) if original.excess > 0 else None
