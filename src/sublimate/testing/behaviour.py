"""What a run does: repeatable, continued to the same bytes, and felt where it should be."""

from __future__ import annotations

import random

import numpy as np
import torch

from ..errors import Interrupted
from ..inference import accuracy, confidence, predict
from ..randomness import guarded
from ..unlearn.base import Outcome
from .case import Case, chosen, problem, run, start
from .toy import Toy
from .world import content


def check_a_seed_means_repeatable(case: Case) -> None:
    """The same seed gives the same bytes whatever ran before; another seed gives others; and something changed."""
    toy = problem()
    first = content(run(case, toy, {"seed": 0}).model)
    with guarded():
        torch.manual_seed(7), np.random.seed(7), random.seed(7)
        second = content(run(case, toy, {"seed": 0}).model)
    case.owes(first == second, "the same seed gave other bytes: draw only from job.stream(…).")
    changed = first != content(start(case.setup, toy)[0])
    case.owes(changed or not case.cls.changes, "the network stayed as it was.")
    case.owes(not changed or case.cls.changes, "the network changed, against changes=False.")
    if case.random:
        other = content(run(case, toy, {"seed": 1}).model)
        case.owes(first != other, "another seed gave the same bytes; if nothing is drawn, say random=False.")


def check_whole_class_is_forgotten_and_the_rest_stays(case: Case) -> None:
    """A whole class loses its confidence, and the retained records stay right."""
    if not case.cls.changes:
        return
    toy = problem()
    rows = chosen(case, toy)
    forget, few = rows.forget_set, rows.few_set
    erased, original = run(case, toy, case.enough, val=rows.val_set).model, start(case.setup, toy)[0]
    before, after = (float(confidence(predict(m, forget), forget.labels).median()) for m in (original, erased))
    limit = 0.0 if case.forgets else before
    went = f"from {before:.2f} to {after:.2f}, not below {limit:.2f}"
    case.owes(after < limit, f"the median confidence on the class went {went}.")
    kept = accuracy(predict(erased, few), few.labels)
    case.owes(kept >= case.keeps, f"accuracy on retained records fell to {kept:.1f} %, below {case.keeps} %.")


class _Memory:
    """A saver that keeps the state in memory."""

    state: bytes | None = None

    def load(self) -> bytes | None:
        """The last state."""
        return self.state

    def save(self, data: bytes) -> None:
        """Replace the state."""
        self.state = data


def check_killed_and_continued_ends_in_the_same_bytes(case: Case) -> None:
    """A run that is stopped after every single iteration ends as one that is not."""
    toy = problem()
    whole, broken = run(case, toy), _stopped_everywhere(case, toy)
    hint = "what a later step needs must be in Phase.modules, or be drawn by its place."
    case.owes(content(broken.model) == content(whole.model), f"a continued run ended in other bytes: {hint}")
    for what in ("losses", "samples", "checks", "choices", "warnings", "stopped"):
        one, other = (vars(outcome.record)[what] for outcome in (whole, broken))
        case.owes(one == other, f"a continued run has other {what}: {other} instead of {one}.")


def _stopped_everywhere(case: Case, toy: Toy) -> Outcome:
    saver = _Memory()
    while True:
        asked = iter([True])
        try:
            return run(case, toy, saver=saver, interrupted=lambda asked=asked: next(asked, False))
        except Interrupted:
            continue
