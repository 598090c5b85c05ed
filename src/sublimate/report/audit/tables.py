"""An audit on the terminal: the verdict first, then what it stands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...audits.result import Audit, Outcome, Verdict
from ..tables import plain
from .text import change, cost, interval, meaning_of, mia, outcome_word, p_text, power, value_text
from .words import HARM

VERDICT_STYLES: dict[Verdict, str] = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow"}
OUTCOME_STYLES: dict[Outcome, str] = {"alike": "green", "different": "red", "unresolved": "yellow", "reported": "dim"}


def audit_lines(found: Audit, ids: Sequence[str] = ()) -> Iterator[RenderableType]:
    """All there is to tell, in order; `ids` are the plain ids of the worst records."""
    yield verdict_line(found)
    yield from (_indented(plain(reason)) for reason in found.reasons)
    yield from ("", test_table(found), "")
    yield from _failed_gates(found)
    yield from harm_lines(found)
    yield Text(power(found))
    yield Text(f"{mia(found)}. Not a verdict.")
    yield from (plain(f"Not tested: {what}.") for what in found.not_tested)
    yield from (plain(f"Skipped: {skipped.what}: {skipped.why}") for skipped in found.skipped)
    if found.worst:
        yield from ("", worst_table(found, ids), "")
    yield Text(f"Cost: {cost(found)}.", style="dim")


def verdict_line(found: Audit) -> Text:
    """The verdict as a coloured word, and in plain ones."""
    meaning, style = meaning_of(found), VERDICT_STYLES[found.verdict]
    return Text.assemble((f"{meaning.icon} {found.verdict}", f"bold {style}"), f" (tier {found.tier})  {meaning.line}")


def test_table(found: Audit) -> Table:
    """One line per test, with its size of sample (forgotten/never seen) and interval."""
    table = _table("Test", title="Forgotten against never-seen records")
    for header in ("Value", "Interval", "n", "p", "Outcome"):
        table.add_column(header, justify="left" if header == "Outcome" else "right", no_wrap=True)
    for test in found.tests:
        row = (value_text(test, test.value), interval(test), f"{test.n_forget}/{test.n_control}")
        table.add_row(
            plain(test.name), *row, p_text(test.p_different), Text(outcome_word(test), OUTCOME_STYLES[test.outcome])
        )
    return table


test_table.__test__ = False  # type: ignore[attr-defined]  # not for pytest


def harm_lines(found: Audit) -> list[RenderableType]:
    """What the rest of the network paid, in two lines."""
    kept, near, exposed, calibrated = (change(found, key) for key in HARM)
    return [
        Text(f"Rest of the network: accuracy {kept}, near the forgotten {near};"),
        _indented(Text(f"exposure of the retained (AUC) {exposed}, calibration error {calibrated}.")),
    ]


def worst_table(found: Audit, ids: Sequence[str]) -> Table:
    """The records that stand out most; plain ids are shown on the terminal alone."""
    table = _table("Record", title="Records that stand out most")
    for header in ("Pseudonym", "Class", "Confidence φ", "Never-seen above"):
        table.add_column(header, justify="left" if header in ("Pseudonym", "Class") else "right", overflow="fold")
    for place, worst in enumerate(found.worst):
        name = ids[place] if place < len(ids) else "–"
        phi = "infinite" if worst.phi is None else f"{worst.phi:.2f}"
        figures = phi, f"{100 * worst.share_above:.1f} %"
        table.add_row(plain(name), worst.pseudonym, plain(worst.label), *figures)
    return table


def _failed_gates(found: Audit) -> Iterator[RenderableType]:
    for gate in found.gates:
        if not gate.passed and gate.says not in found.reasons:  # reasons were told
            yield plain(f"Condition not met, {gate.name}: {gate.says}")


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def _table(first: str, title: str) -> Table:
    # Without frame and padding nothing is cut at 80 columns.
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), title=title, title_justify="left")
    table.add_column(first, overflow="fold")
    return table
