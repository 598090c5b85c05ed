"""Tier 2 beside networks that never saw the forgotten records: record by record, and class by class."""

from __future__ import annotations

import torch

from ..errors import InputRefused
from ..splits import Part
from .calibrated import EXTREME, Answers, answers, deviations
from .intervals import auc_interval
from .looking import Hint, Look, auc_hint, hint, shares_hint
from .profile import Profile, profiles
from .result import Outcome
from .rmia import fitted_a, rmia_scores
from .shares import share_difference

POPULATION, ASIDE = 1000, 4  # never-seen records set aside for RMIA, at most one in four
APART = 0.05  # nats: profiles that differ by less are alike, however little two references differ


def record_by_record(look: Look) -> list[Hint]:
    """Against what the references say of the very record: extreme deviations, and RMIA."""
    _need_references(look)
    control, population = _aside(look)
    forget, never, others = (answers(look.model, look.references, p) for p in (look.forget, control, population))
    asked = len(control) + len(look.forget) + len(population)
    look.images += (1 + len(look.references)) * (asked + len(look.forget))
    a = fitted_a(answers(look.original, look.references, look.forget).p, forget.p_out)
    scores = rmia_scores(forget, never, others, a=a)
    i = auc_interval(scores.forget, scores.control, groups=(look.forget.labels, control.labels))
    says = f"beside {len(look.references)} reference(s) forgotten records are told from never-seen: AUC {i.value:.3f}."
    return [*_extremes(look, forget, never), auc_hint(look, "RMIA", says, i, detail={"a": round(a, 3)})]


def _aside(look: Look) -> tuple[Part, Part]:
    """Control records of the forgotten classes, and a population of other never-seen records.

    Not `val`: choices were made on it when erasing, so to the erased network it is not quite never seen.
    """
    population = look.control.sample(min(POPULATION, len(look.control) // ASIDE), look.seed)
    control = look.control.where(~torch.isin(look.control.rows, population.rows))
    control = control.where(torch.isin(control.labels, look.forget.labels))
    if not len(control) or not len(population):
        raise InputRefused("There are too few never-seen records to set some aside.", "Give a larger test part.")
    return control, population


def _extremes(look: Look, forget: Answers, never: Answers) -> list[Hint]:
    """To a network that never saw a class all of its records are strange: there a deviation says nothing."""
    if len(look.gone):
        why = "of a wholly forgotten class never-seen records deviate like forgotten ones, so they are no yardstick"
        look.skip("extreme records", why)
        return []
    found = deviations(forget, never)
    mine, theirs = (z.abs() > EXTREME for z in (found.forget, found.control))
    says = f"{int(mine.sum())} of {len(mine)} forgotten records deviate by over 3 σ, {int(theirs.sum())} of "
    says += f"{len(theirs)} never-seen ones."
    compared = share_difference(mine, theirs, (forget.part.labels, never.part.labels))
    return [shares_hint(look, "Extreme records", says, compared)]


def neighbour_classes(look: Look) -> list[Hint]:
    """Where do images of a forgotten class go?  Only a second reference says how far that may differ by chance."""
    if not len(look.gone):
        return []
    _need_references(look)
    another = look.references[1] if len(look.references) > 1 else None
    found = profiles(look.model, look.references[0], look.split, another=another, seed=look.seed)
    look.images += (1 + len(look.references[:2])) * sum(profile.n for profile in found)
    return [_spread(look, profile) for profile in found]


def _spread(look: Look, profile: Profile) -> Hint:
    d, yardstick = profile.divergence, profile.seeds or profile.halves
    between = "two references" if profile.seeds else "two halves of the images"
    says = (
        f"the classes that images of {profile.name} are taken for differ from those in the reference by JS {d.js:.3f}; "
        f"it is {yardstick.js:.3f} between {between}."
    )
    told = profile.seeds is not None and d.low > max(APART, 2 * profile.seeds.high)
    outcome: Outcome = "different" if told else "reported"
    name = f"Neighbour classes, {profile.name}"
    detail = {"decides": profile.seeds is not None}
    return hint(look, name, says, d.js, span=(d.low, d.high), n=(profile.n, profile.n), outcome=outcome, detail=detail)


def _need_references(look: Look) -> None:
    if not look.references:
        raise InputRefused("There is no clean reference network.", "Give a Retrain with --reference.")
