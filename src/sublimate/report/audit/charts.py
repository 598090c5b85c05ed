"""Charts of an audit: how sure the network is of forgotten and never-seen records, and what an attacker finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...audits.result import Audit
from ..figures import COLOURS, NEUTRAL, Chart, Trace, layout, scatter
from ..tables import finite

CONFIDENCE = "confidence φ; further right, surer of the right label"
RATES = {"tickvals": [0.001, 0.01, 0.1, 1], "ticktext": ["0.1 %", "1 %", "10 %", "100 %"], "zeroline": False}
GUESSING = [0.001, 1]


def audit_charts(found: Audit) -> list[Chart]:
    """Confidence before and after, and the ROC curve on two logarithmic scales; none without material."""
    curves = found.curves
    return [_spread(curves, "before"), _spread(curves, "after"), _roc(curves)] if curves else []


def _spread(curves: dict[str, Any], when: str) -> Chart:
    highest = max((share for shares in curves["shares"].values() for share in _numbers(shares) if share), default=1.0)
    never = {"line": {"color": NEUTRAL, "width": 1, "shape": "hv"}, "fill": "tozeroy"}
    gone = {"line": {"color": COLOURS[1], "width": 2.5, "shape": "hv"}}
    verb = {"before": "was", "after": "is"}[when]
    return Chart(
        title=f"Confidence {when} erasing",
        words=f"How sure the network {verb} of the forgotten records (line) and of never-seen records of the same "
        "classes (area). Where they are alike, the line follows the area.",
        data=[
            _steps("never seen", curves["edges"], curves["shares"][f"never seen {when}"], never),
            _steps("forgotten", curves["edges"], curves["shares"][f"forgotten {when}"], gone),
        ],
        layout=layout(
            height=300,
            xaxis={"title": {"text": CONFIDENCE, "font": {"size": 13}}, "zeroline": False},
            yaxis={"range": [0, 1.05 * highest], "tickformat": ".0%"},
        ),
        wide=False,
    )


def _steps(name: str, edges: Sequence[float], shares: Sequence[float], look: dict[str, Any]) -> Trace:
    """A histogram as a line of steps, closed at its right end."""
    heights = _numbers(shares)
    return scatter(name, _numbers(edges), [*heights, *heights[-1:]], mode="lines", **look)


def _roc(curves: dict[str, Any]) -> Chart:
    looks = {
        "before": {"color": NEUTRAL, "width": 2, "dash": "dash"},
        "after": {"color": COLOURS[0], "width": 2.5, "dash": "solid"},
    }
    lines = [
        scatter(f"{when} erasing", _numbers(curves["false alarms"]), _above_zero(curves["found"][when]), line=look)
        for when, look in looks.items()
    ]
    guess = scatter("guessing", GUESSING, GUESSING, line={"color": NEUTRAL, "width": 1, "dash": "dot"})
    return Chart(
        title="What an attacker finds",
        words="Share of the forgotten records found by their high confidence, for each share of never-seen records "
        "taken for them by mistake; both scales are logarithmic. The dotted line is what guessing finds: above it is a "
        "trace, below it a scar. Where a line ends at the left, nothing is found.",
        data=[{**line, "mode": "lines"} for line in (guess, *lines)],
        layout=layout(
            height=420,
            xaxis={
                **RATES,
                "type": "log",
                "range": [-3.04, 0.03],
                "title": {"text": "false alarms", "font": {"size": 13}},
            },
            yaxis={**RATES, "type": "log", "range": [-3.1, 0.05], "title": {"text": "found", "font": {"size": 13}}},
        ),
    )


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [finite(value) for value in values]


def _above_zero(values: Sequence[float]) -> list[float | None]:
    """A logarithmic scale has no nought."""
    return [value if value and value > 0 else None for value in _numbers(values)]
