"""The audit: is the forgotten data distinguishable from data that the network never saw, in either direction?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from torch import nn

from ..errors import InputRefused
from ..inference import gradients_on
from ..splits import Part, Split
from .blind import not_tested
from .copies import Trained, without_copies, without_kept
from .curves import curves
from .evaluation import check_sample
from .gates import MOST_DELTA, carried_out
from .given import checked_scorers
from .harm import Parts, complaints, harm
from .kind import apart_from_nature
from .looking import Look
from .membership import entropy_mia
from .outputs import PASSES, Outputs, collect
from .planted import Pairs, pair_tests, set_apart
from .population import SCORERS, Scorer
from .references import Reference, clean_references, listed
from .result import Audit, Compute, Skipped, Test
from .sampling import looked_at
from .tier1 import look_at_crowd
from .tier2 import look_closer
from .verdict import decide
from .worst import worst_places, worst_records

REVISION = "4"  # raised when the same networks get another verdict: a bench then audits them again


@gradients_on()
def audit(
    model: nn.Module,
    *,
    original: nn.Module,
    split: Split,
    reference: Reference | Sequence[Reference] | None = None,
    tier: int = 1,
    sample: int | None = None,
    seed: int = 0,
    canary_seed: int | None = None,
    scorers: Mapping[str, Scorer] = SCORERS,
    tick: Callable[[int], None] | None = None,
    worst_ids: Callable[[list[str]], None] | None = None,
) -> Audit:
    """Look at an erased network from outside (tier 1) and from inside (tier 2), and say what was shown.

    A reference may come as a pair with the fingerprint of the split it was trained on; without it is marked unverified.
    `canary_seed` is that of the training, where it is another than `seed`; `worst_ids` is told the
    ids of the records under `worst`, in their order: the result itself holds pseudonyms.

    >>> import sublimate as sm
    >>> data = sm.load("digits")
    >>> model = sm.train(data, "small-cnn", epochs=2)
    >>> sm.audit(model, original=model, split=sm.split(data, "id:7,8,9")).verdict
    'INCONCLUSIVE'
    """
    scorers = checked_scorers(model, original, split, reference, scorers)
    _check(tier, scorers)
    check_sample(sample)
    began = time.perf_counter()
    planted = set_apart(split, seed if canary_seed is None else canary_seed)
    parts, copied, kept = _fair_parts(looked_at(planted.split, split, sample), split)
    before, after = (_outputs(network, parts, seed, tick) for network in (original, model))
    gone = (split.ratios >= 1).nonzero().flatten()
    crowd = look_at_crowd(before, after, gone, seed, scorers, split.data.classes)
    given = listed(reference)
    judged = {"the network under audit": (model, after), "the original": (original, before)}
    clean = clean_references(given, lambda network: _outputs(network, parts, seed), judged, split.fingerprint, gone)
    narrowed = replace(planted.split, forget=parts["forget"].rows, control=parts["control"].rows)
    look = Look(model, original, narrowed, gone, clean.used, crowd.delta or MOST_DELTA, seed)
    look.images = PASSES * (2 + len(given)) * sum(map(len, parts.values()))
    tests = crowd.tests + _paired(look, planted.pairs) + (look_closer(look) if tier == 2 else [])
    tests, odd = apart_from_nature(tests, crowd.original, clean.compared, look.delta)
    gates = [*crowd.gates, *planted.gates, *odd, *([carried_out(look.undone)] if tier == 2 else [])]
    verdict, reasons = decide(tests, gates, crowd.hidden)
    found = harm(before, after, gone, split.data.classes)
    if worst_ids:
        places = worst_places(after["forget"], after["control"])
        worst_ids([split.data.ids[int(row)] for row in parts["forget"].rows[places]])
    return Audit(
        verdict=verdict,
        tier=tier,
        reasons=[*reasons, *(f"Not judged: {one.what}: {one.why}." for one in kept), *complaints(found)],
        tests=tests,
        gates=[*gates, *clean.gates],
        delta=crowd.delta,
        smallest_detectable=crowd.detectable,
        chance_alike=crowd.chance,
        harm=found,
        mia={"before": _mia(before), "after": _mia(after), "fitted_on": len(after["retain"]) + len(after["never"])},
        curves=curves(before, after),
        worst=worst_records(after["forget"], after["control"], split.data.classes),
        not_tested=not_tested(tests, tier, len(gone) > 0, beside=bool(clean.used)),
        skipped=[*copied, *kept, *clean.refused, *look.skipped],
        compute=Compute(images=look.images, steps=look.steps, seconds=round(time.perf_counter() - began, 2)),
        split=split.fingerprint,
        n={name: len(part) for name, part in parts.items()},
    )


def _fair_parts(parts: dict[str, Part], split: Split) -> tuple[dict[str, Part], list[Skipped], list[Skipped]]:
    """The parts without copies; what was left out of the never-seen records, and of the forgotten ones."""
    trained = Trained.read(Part(split.data, split.data.train, "train"))
    control, copied = without_copies(parts["control"], trained)
    forget, kept = without_kept(parts["forget"], split.retain, trained)
    return parts | {"control": control, "forget": forget}, copied, kept


def _check(tier: int, scorers: Mapping[str, Scorer]) -> None:
    if tier not in (1, 2):
        raise InputRefused(f"There is no tier {tier}.", "Give 1 or 2.")
    if not scorers:
        raise InputRefused("There is no score to judge by.", "Give at least one.")


def check_auditable(split: Split, seed: int = 0) -> None:
    """Refuse what `audit` would refuse of this split, before anything is erased."""
    _fair_parts(looked_at(set_apart(split, seed).split, split), split)


def images_at_tier_1(split: Split, sample: int | None = None, seed: int = 0) -> int:
    """Images that pass through a network at tier 1 without references."""
    return 2 * PASSES * sum(map(len, looked_at(set_apart(split, seed).split, split, sample).values()))


def _outputs(
    network: nn.Module, parts: Mapping[str, Part], seed: int, tick: Callable[[int], None] | None = None
) -> dict[str, Outputs]:
    found = {name: collect(network, part, seed, tick) for name, part in parts.items()}
    return {"never": found["control"]} | found


def _mia(out: Parts) -> float:
    return entropy_mia(out["retain"].z, out["never"].z, out["forget"].z)


def _paired(look: Look, pairs: Pairs | None) -> list[Test]:
    if pairs is None:
        return []
    look.images += 4 * len(pairs[0])  # two networks, and each record has its twin
    return pair_tests(look.model, look.original, pairs)
