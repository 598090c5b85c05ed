"""Tier 2 by behaviour: after a few updates, and a small step away from each record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ..errors import InputRefused
from .intervals import auc_interval
from .looking import Hint, Look, auc_hint, hint, shares_hint
from .neighbourhood import neighbourhood
from .relearning import Relearning, relearning
from .shares import share_difference
from .updating import Attack

JUDGED = 2000  # records of each side that are looked at after updates
MARGIN = 10.0  # points: two networks that never saw a class may learn it so differently
ALONE = 20.0  # points, beside one reference: nothing tells how far another would lie from it
HALFWAY = 0.5  # from the references to the original: what comes back by less is nearer to never seen
SEARCHED = 1000  # records of each side whose neighbourhood is searched
DRAWS = 5


def relearned(look: Look) -> list[Hint]:
    """After a few updates the other forgotten records must still be like never-seen ones, and as slow to come back."""
    if not list(look.model.parameters()):
        raise InputRefused("The network has no weights to update.", "Give a network that can be trained on.")
    control = look.control.where(torch.isin(look.control.labels, look.forget.labels))
    few = replace(look.split, forget=look.forget.sample(JUDGED).rows, control=control.sample(JUDGED).rows)
    references = look.references[:2] if len(look.gone) else ()
    found = relearning(look.model, look.original, few, retrained=references, seed=look.seed)
    whole = len(look.gone) > 0
    look.skip("relearning", *(why for why in found.skipped if whole or not why.startswith("comparison")))
    look.fail("relearning", *found.failed)
    look.images += found.images
    look.steps += sum(attack.updates for attacks in (found.erased, *found.retrained) for attack in attacks)
    hints = [_still_alike(look, attack) for attack in found.erased]
    return hints + (_comes_back(look, found) if found.retrained else [])


def _still_alike(look: Look, attack: Attack) -> Hint:
    (before, others), control = attack.others, attack.control[1]
    i = auc_interval(others.phi, control.phi, groups=(others.labels, control.labels))
    says = (
        f"after {attack.updates} updates that show {attack.shown} of them, the other forgotten records are told from "
        f"never-seen ones with AUC {i.value:.3f}; accuracy on them {before.accuracy:.1f} → {others.accuracy:.1f} %."
    )
    figures = {"gain": round(attack.gain, 2), "updates to target": attack.updates_to_target}
    return auc_hint(look, f"Relearning, {attack.shown} shown", says, i, detail=figures)


def _comes_back(look: Look, found: Relearning) -> list[Hint]:
    """A class that is gone comes back no faster than in networks that never saw it: over all attacks, and clearly."""
    mine, references = found.erased, found.retrained
    shared = set.intersection(*({attack.shown for attack in attacks} for attacks in (mine, *references)))
    if not shared:
        look.skip("return of the class", "no attack could be carried out on all networks")
        return []
    own, *never = (_known(attacks, shared, look.gone) for attacks in (mine, *references))
    if not len(own):
        look.skip("return of the class", "no record of a forgotten class is left to look at")
        return []
    levels = [100 * float(one.mean()) for one in never]
    known, beside = 100 * float(own.mean()), sum(levels) / len(levels)
    least = max(MARGIN, 2 * (max(levels) - min(levels))) if len(levels) > 1 else ALONE
    margin = max(least, HALFWAY * (2 * found.target - beside))
    says = (
        f"over {len(shared)} attacks of {mine[0].updates} updates {known:.1f} % of the forgotten class are known "
        f"again, {beside:.1f} % by networks that never saw it; a difference counts beyond {margin:.0f} points."
    )
    figures = {"references": [round(level, 2) for level in levels], "original": round(2 * found.target, 2)}
    p = _sign_test(own - torch.stack(never).mean(0))
    return [
        hint(
            look, "Return of the class", says, known - beside, p=p, counts=known - beside > margin,
            n=(len(own), len(own)), detail=figures,
        )
    ]  # fmt: skip


def _known(attacks: Sequence[Attack], shared: set[int], gone: Tensor) -> Tensor:
    """Of each other record of the forgotten classes: after which share of the attacks it is called right."""
    after = [attack.others[1] for attack in attacks if attack.shown in shared]
    return torch.stack([one.right.double() for one in after]).mean(0)[torch.isin(after[0].labels, gone)]


def _sign_test(differences: Tensor) -> float:
    """Two-sided p-value of "a record is as likely above nought as below"."""
    from scipy.stats import binomtest  # type: ignore[import-untyped, unused-ignore]

    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    return float(binomtest(above, above + below).pvalue) if above + below else 1.0


def nearby(look: Look) -> list[Hint]:
    """Records that are wrong and come right a small step away, forgotten against never-seen ones of their classes."""
    forget = look.forget.sample(SEARCHED)
    control = look.control.where(torch.isin(look.control.labels, forget.labels)).sample(SEARCHED)
    found = neighbourhood(look.model, forget, control, draws=DRAWS, seed=look.seed)
    look.images += (2 * DRAWS + 3) * (len(forget) + len(control))
    look.skip("neighbourhood", *found.skipped)
    hints = []
    for kind in found.forget.right:
        mine, theirs = found.forget.recognised(kind), found.control.recognised(kind)
        a, b = (100 * float(group.double().mean()) for group in (mine, theirs))
        says = f"{a:.1f} % of the forgotten records come right only a step away, {b:.1f} % of the never-seen ones."
        compared = share_difference(mine, theirs, (forget.labels, control.labels))
        hints.append(shares_hint(look, f"Neighbourhood, {kind}", says, compared))
    return hints
