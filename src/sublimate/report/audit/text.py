"""Figures and sentences of an audit, the same on the terminal and on the page."""

from __future__ import annotations

from ...audits.result import Audit, Test
from ..tables import count, duration, signed
from .words import FAILS, FAMILIES, HARM, MEANINGS, OTHERS, OUTCOMES, Family, Meaning

DECIDING = ("ε, ", "Class still known", "Unchanged weights")  # by a bound or a count, without a p-value


def meaning_of(found: Audit) -> Meaning:
    """The verdict in words; those of a FAIL fit the tests that tell."""
    telling = [test.name for test in found.tests if test.outcome == "different"]
    if found.verdict == "FAIL" and telling:
        for begins, meaning in FAILS.items():
            if all(name.startswith(begins) for name in telling):
                return meaning
    return MEANINGS[found.verdict]


def family_of(test: Test) -> Family:
    """The question that a test belongs to."""
    return next((family for family in FAMILIES if _begin(family, test)), OTHERS)


def value_text(test: Test, value: float | None) -> str:
    """A figure of a test in its own unit.

    >>> found = Test(name="found at 1.0% false alarms, above", tier=1, n_forget=9, n_control=9, outcome="reported")
    >>> value_text(found, 0.0204), value_text(found, None)
    ('2.0 %', '–')
    """
    family = family_of(test)
    unit = family.units.get(_begin(family, test) or "", "number")
    if value is None:
        return "–"
    number = f"{value:.1g}" if 0 < abs(value) < 0.0005 else f"{value:.3f}"  # little is not nothing
    shown = {"number": number, "share": f"{100 * value:.1f} %", "points": f"{signed(value, 1)} pt"}[unit]
    return shown.replace("-", "−")


def interval(test: Test) -> str:
    """Both ends in the unit of the test, which is named once.

    >>> interval(Test(name="AUC, loss", tier=1, low=0.4, high=0.6, n_forget=9, n_control=9, outcome="alike"))
    '0.400–0.600'
    """
    if test.low is None or test.high is None:
        return ""
    low, high = (value_text(test, end) for end in (test.low, test.high))
    return f"{low.removesuffix(' %').removesuffix(' pt')}–{high}"


def outcome_word(test: Test) -> str:
    """What a test shows, in a word or two; a test that could have shown a difference and did not is told apart.

    >>> outcome_word(Test(name="RMIA", tier=2, p_different=0.9, n_forget=9, n_control=9, outcome="reported"))
    'nothing shown'
    """
    decides = test.p_different is not None or test.name.startswith(DECIDING) or test.detail.get("decides", False)
    silent = test.outcome == "reported" and decides
    return "nothing shown" if silent else OUTCOMES[test.outcome][1]


def p_text(p: float | None) -> str:
    """A p-value.

    >>> p_text(0.0004), p_text(0.25), p_text(None)
    ('<0.001', '0.250', '–')
    """
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def change(found: Audit, key: str) -> str:
    """A figure of harm before and after."""
    _, unit = HARM[key]
    before, after = (found.harm[key][when] for when in ("before", "after"))
    return f"{before:.1f} → {after:.1f} %" if unit else f"{before:.3f} → {after:.3f}"


def power(found: Audit) -> str:
    """The smallest leak that could have been seen, and what counts as alike."""
    least = "With so few records no leak, however large, is found four times out of five."
    if found.smallest_detectable is not None:
        least = (
            f"The smallest leak found four times out of five is |AUC − 0.5| = {found.smallest_detectable:.3f}; "
            "a smaller one may go unnoticed."
        )
    alike = "The original shows no leak, so there is no tolerance δ to judge by."
    if found.delta is not None:
        alike = f"Differences below δ = {found.delta:.3f} count as alike."
    if found.chance_alike is not None:
        alike += (
            f" With so many records a perfect erasure is shown to be one in {_percent(found.chance_alike)} of audits."
        )
    return f"{least} {alike}"


def _percent(share: float) -> str:
    """A share in whole percent, near none and near all in words.

    >>> _percent(0.784), _percent(0.9999), _percent(0.0)
    ('78 %', 'more than 99 %', 'less than 1 %')
    """
    return "more than 99 %" if share > 0.99 else "less than 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")


def mia(found: Audit) -> str:
    """The paper's attack, which is no verdict."""
    before, after, records = found.mia["before"], found.mia["after"], count(round(found.mia["fitted_on"]))
    says = f"The paper's attack, fitted on {records} records, calls {before:.1f} % of the forgotten ones members before"
    return f"{says}, {after:.1f} % after"


def cost(found: Audit) -> str:
    """What the audit took."""
    spent = found.compute
    steps = f", {count(spent.steps)} training steps of attacks" if spent.steps else ""
    return f"{count(spent.images)} images through a network{steps}, {duration(spent.seconds)} seconds"


def _begin(family: Family, test: Test) -> str | None:
    return next((begin for begin in family.units if test.name.startswith(begin)), None)
