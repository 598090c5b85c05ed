"""An audit as the page tells it: everything in words and finished figures, nothing left to compute in the template."""

from __future__ import annotations

from typing import Any

from ...audits.result import Audit, Test
from ..tables import MISSING, count, finite
from .text import change, cost, family_of, interval, meaning_of, mia, outcome_word, p_text, power, value_text
from .words import FAMILIES, GATES, HARM, OTHERS, OUTCOMES


def section(found: Audit) -> dict[str, Any]:
    """What the templates show of an audit; pure text, still to be escaped."""
    return {
        "verdict": found.verdict,
        "tier": found.tier,
        "meaning": meaning_of(found),
        "reasons": found.reasons,
        "families": _families(found),
        "gates": [{"gate": gate, "why": GATES.get(gate.name, "")} for gate in found.gates],
        "harm": [(words, *change(found, key).split(" → ")) for key, (words, _) in HARM.items()],
        "classes": found.harm.get("accuracy by class", {}),
        "worst": [_worst(worst.model_dump()) for worst in found.worst],
        "power": power(found),
        "mia": mia(found),
        "not_tested": found.not_tested,
        "skipped": found.skipped,
        "cost": cost(found),
        "looked_at": ", ".join(f"{count(n)} {PARTS.get(part, part)}" for part, n in found.n.items()),
    }


PARTS = {
    "forget": "forgotten records",
    "control": "never-seen records",
    "retain": "retained records",
    "never": "never-seen records of all classes",
}


def _families(found: Audit) -> list[dict[str, Any]]:
    """The tests by the question they ask, without questions that were not asked."""
    asked = [(family, [t for t in found.tests if family_of(t) is family]) for family in (*FAMILIES, OTHERS)]
    return [
        {
            "title": family.title,
            "asks": family.asks,
            "tests": list(map(_test, tests)),
            "equality": any(test.p_alike is not None for test in tests),
        }
        for family, tests in asked
        if tests
    ]


def _test(test: Test) -> dict[str, Any]:
    return {
        "name": test.name,
        "remark": remark(test),
        "value": value_text(test, finite(test.value)),
        "interval": interval(test) or MISSING,
        "n": f"{count(test.n_forget)} / {count(test.n_control)}",
        "p_different": p_text(test.p_different),
        "p_alike": p_text(test.p_alike),
        "outcome": test.outcome,
        "icon": OUTCOMES[test.outcome][0],
        "word": outcome_word(test),
    }


def remark(test: Test) -> str:
    """What a test adds to its figures, in a sentence.

    >>> detail = {"ceiling": 2, "confidence": 0.99}
    >>> remark(Test(name="ε, lower bound", tier=1, n_forget=9, n_control=9, outcome="reported", detail=detail))
    'Ceiling 2.00. 99 % sure.'
    """
    says, ceiling, alarms, sure = (
        test.detail.get(key) for key in ("says", "ceiling", "false alarms up to", "confidence")
    )
    said = [
        f"{says[0].upper()}{says[1:]}" if says else "",
        f"Ceiling {ceiling:.2f}." if ceiling is not None else "",
        f"False alarms may be up to {100 * alarms:.1f} %." if alarms is not None else "",
        f"{100 * sure:.0f} % sure." if sure is not None else "",
    ]
    return " ".join(filter(None, said))


def _worst(worst: dict[str, Any]) -> dict[str, Any]:
    above = worst["share_above"]
    return {
        "pseudonym": worst["pseudonym"],
        "label": worst["label"],
        "phi": MISSING if finite(worst["phi"]) is None else f"{worst['phi']:.2f}".replace("-", "−"),
        "share": f"{100 * above:.1f} %",
        "way": "above" if above < 0.5 else "below",
    }
