"""What `sublimate erase` tells when it is done: figures, the audit, the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .audit import judge

if TYPE_CHECKING:
    from ..audits.result import Audit
    from ..networks import Network
    from ..pipeline import Result
    from ..report.rows import Row, Story
    from .ui import Ui


def summarise(ui: Ui, network: Network, result: Result, references: list[Network], out: Path) -> Story:
    """What happened and what it changed; the same as a story for the page."""
    from ..report.tables import meaning_lines, score_table
    from .story import story_of

    for warning in result.record.warnings:
        ui.warn(warning)
    shown = {name: value for name, value in result.record.choices.items() if name != "probe"}
    ui.note("; ".join(f"{name} {value}" for name, value in shown.items()))
    rows = _rows(result, references)
    reference = "Retrain" if rows and references else None
    story = story_of(network.data, result.split, network.architecture, rows, reference)
    if rows:
        ui.say(score_table(story))
        for line in meaning_lines(story):
            ui.say(line)
    ui.say(f"Stopped: {result.record.stopped}. Written: {out}")
    return story


def _rows(result: Result, references: list[Network]) -> list[Row]:
    """The networks before and after, and the first reference between them; none when nothing was evaluated."""
    from ..audits.evaluation import evaluate
    from ..report.rows import Row

    if not (result.before and result.after):
        return []
    goal = [Row(name="Retrain", scores=evaluate(network.model, result.split)) for network in references[:1]]
    spent, read = result.seconds, result.samples
    last = Row(name="Erased", scores=result.after, seconds=spent, samples=read, record=result.record)
    return [Row(name="Original", scores=result.before), *goal, last]


def judged(
    ui: Ui, network: Network, result: Result, references: list[Network], tier: int | None, device: str, seed: int
) -> Audit | None:
    """The audit of what was erased, when one was asked for."""
    if tier is None:
        return None
    erased = result.model.to(device)
    return judge(ui, erased, network, references, result.split, tier, None, seed, _attacked(result))


def _attacked(result: Result) -> dict[str, float] | None:
    """The paper's attack as the table of figures has it."""
    if not (result.before and result.after) or result.before.mia is None or result.after.mia is None:
        return None
    records = len(result.split.retain) + len(result.split.data.test)
    return {"before": result.before.mia, "after": result.after.mia, "fitted_on": records}
