"""Tier 2 with the weights in hand: unchanged tensors, and what the last features still tell."""

from __future__ import annotations

from ..errors import InputRefused
from .identity import identical
from .intervals import auc_interval
from .looking import Hint, Look, auc_hint, hint
from .result import Outcome
from .whitebox import Probe, class_probe, membership_probe

NAMED = 50  # unchanged tensors that are listed


def unchanged_weights(look: Look) -> list[Hint]:
    """As in the original, wholly or but for the last layer: whatever the network says, it knows what it knew."""
    for name, network in (("original", look.original), ("network", look.model)):
        if not network.state_dict():
            raise InputRefused(f"The {name} has no weights.", "Give a network whose weights can be compared.")
    found = identical(look.model, look.original, len(look.split.data.classes))
    says = f"{found.numbers_same} of {found.numbers} numbers are those of the original, bit by bit."
    if found.untouched:
        says = "every weight is that of the original, or as good as: nothing was erased, at most it is masked."
    elif found.last_layer_only:
        says = "only the last layer was changed: the features are those of the original, or as good as."
    only_hidden = found.untouched or found.last_layer_only
    share = found.numbers_same / found.numbers
    outcome: Outcome = "different" if only_hidden else "reported"
    return [hint(look, "Unchanged weights", says, share, outcome=outcome, detail={"tensors": list(found.same)[:NAMED]})]


def membership_in_features(look: Look) -> list[Hint]:
    """A fresh linear head on the last features must not tell forgotten from never-seen records."""
    found = membership_probe(look.model, look.forget, look.control, seed=look.seed)
    if found is None:
        look.skip("membership in the features", "there are too few records for a probe")
        return []
    look.images += len(look.forget) + len(look.control)
    i = auc_interval(found.found, found.others, groups=(found.found_groups, found.others_groups))
    says = f"a linear probe on the last features tells forgotten from never-seen records with AUC {i.value:.3f}."
    return [auc_hint(look, "Membership in the features", says, i, only_above=True)]


def classes_in_features(look: Look) -> list[Hint]:
    """Whole classes.  Also who never saw a class has features for it: this is reported beside its yardsticks."""
    if not len(look.gone):
        return []
    networks = look.model, look.original, *look.references[:1]
    mine, before, *never = (class_probe(network, look.split, seed=look.seed) for network in networks)
    if mine is None:
        look.skip("classes in the features", "there are too few never-seen records for a probe")
        return []
    look.images += 2 * len(networks) * (len(mine.found) + len(mine.others))  # a half is judged
    beside = {"original": _auc(before), "reference": _auc(never[0] if never else None)}
    says = f"a fresh head finds the forgotten classes in the features with AUC {mine.auc:.3f}."
    return [hint(look, "Classes in the features", says, mine.auc, detail=beside)]


def _auc(probe: Probe | None) -> float | None:
    return None if probe is None else round(probe.auc, 3)
