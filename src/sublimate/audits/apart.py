"""Tier 1, class by class: traces in some classes must not be hidden by scars in others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..inference import auc
from .intervals import null_se
from .outputs import Outputs
from .population import SCORERS, SURE, Scorer
from .result import Test
from .statistics import NORMAL, holm

APART = "Classes apart, "  # how the names of these tests begin
LEAST = 10  # records of either side: with fewer the normal law of an AUC is not good enough
NAMED = 3  # classes that a sentence names


@dataclass(frozen=True)
class ClassAuc:
    """AUC of the forgotten against the never-seen records of one class, and its standard error if they are alike."""

    label: int
    n: int
    m: int
    value: float
    null_se: float

    def beyond(self, delta: float) -> float:
        """Standard errors by which it lies further than δ from one half; 0 where it lies nearer."""
        return max(0.0, abs(self.value - 0.5) - delta) / self.null_se


def class_aucs(score: Scorer, forget: Outputs, control: Outputs) -> list[ClassAuc]:
    """One for each class with enough records of both sides."""
    f, c, found = score(forget), score(control), list[ClassAuc]()
    for k in forget.labels.unique():
        mine, theirs = f[forget.labels == k], c[control.labels == k]
        n, m = len(mine), len(theirs)
        if min(n, m) >= LEAST:
            found.append(ClassAuc(int(k), n, m, auc(mine, theirs), null_se(n, m)))
    return found


def p_apart(found: Sequence[ClassAuc], delta: float) -> float:
    """p-value of "no class lies further than δ from one half", by Q = Σ z² of those that do.

    At worst every class lies at δ, and is found beyond it (on that side, or on the other where δ is small) with a
    chance of one half or more.  So Q is χ² with degrees of freedom that are themselves drawn: the heads of k coins.

    >>> round(p_apart([ClassAuc(0, 50, 50, 0.67, 0.06), ClassAuc(1, 50, 50, 0.33, 0.06)], 0.05), 4)
    0.0078
    """
    from scipy.stats import binom, chi2  # type: ignore[import-untyped, unused-ignore]

    q, k = _q(found, delta), len(found)
    coin = 0.5 + NORMAL.cdf(-2 * delta / max(one.null_se for one in found))
    return float(sum(binom.pmf(heads, k, coin) * chi2.sf(q, heads) for heads in range(1, k + 1))) if q else 1.0


def _q(found: Sequence[ClassAuc], delta: float) -> float:
    return sum(one.beyond(delta) ** 2 for one in found)


def apart_tests(
    forget: Outputs,
    control: Outputs,
    delta: float,
    classes: Sequence[str] = (),
    scorers: Mapping[str, Scorer] = SCORERS,
) -> list[Test]:
    """One test per score; none where less than two classes have enough records: the main tests say it then.

    As in the main tests, classes that all lie within δ do not count as different, however sure it is.
    """
    found = {name: class_aucs(score, forget, control) for name, score in scorers.items()}
    found = {name: aucs for name, aucs in found.items() if len(aucs) > 1}
    p_values = holm([p_apart(aucs, delta) for aucs in found.values()])
    return [_apart_test(name, aucs, p, delta, classes) for (name, aucs), p in zip(found.items(), p_values, strict=True)]


def _apart_test(name: str, found: Sequence[ClassAuc], p: float, delta: float, classes: Sequence[str]) -> Test:
    furthest = sorted(found, key=lambda one: -abs(one.value - 0.5) / one.null_se)[:NAMED]
    named = ", ".join(f"{_name(one.label, classes)} (AUC {one.value:.3f})" for one in furthest)
    says = (
        "class by class, forgotten records differ from never-seen ones by more than δ and chance allow; furthest: "
        f"{named}."
    )
    if p >= SURE:
        says = f"no class stands out by more than chance or δ allows; furthest: {named}."
    return Test(
        name=f"{APART}{name}", tier=1, value=max(abs(one.value - 0.5) for one in found),
        n_forget=sum(one.n for one in found), n_control=sum(one.m for one in found), p_different=p,
        outcome="different" if p < SURE else "reported",
        detail={"says": says, "Q": round(_q(found, delta), 3), "classes": len(found)},
    )  # fmt: skip


def _name(label: int, classes: Sequence[str]) -> str:
    return classes[label] if label < len(classes) else f"class {label}"
