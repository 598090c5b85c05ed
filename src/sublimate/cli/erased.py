"""What `sublimate erase` tells when it is done: figures, the audit, the page."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .audit import judge

if TYPE_CHECKING:
    from torch import nn

    from ..audits.result import Audit
    from ..networks import Network
    from ..pipeline import Result
    from ..report.rows import Row, Story
    from ..splits import Split
    from .ui import Ui


def summarise(ui: Ui, network: Network, result: Result, references: list[Network], out: Path, *, paged: bool) -> Story:
    """What happened and what it changed; the same as a story, with what only a page has room for if it is `paged`."""
    from ..report.tables import meaning_lines, score_table
    from .story import story_of

    for warning in result.record.warnings:
        ui.warn(warning)
    shown = {name: value for name, value in result.record.choices.items() if name != "probe"}
    ui.note("; ".join(f"{name} {value}" for name, value in shown.items()))
    rows = _rows(result, references)
    reference = "Retrain" if rows and references else None
    if paged:
        models = [network.model, *(one.model for one in references[:1]), result.model]
        rows = [_class_by_class(row, model, result.split) for row, model in zip(rows, models, strict=bool(rows))]
    story = story_of(network.data, result.split, network.architecture, rows, reference, typed())
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


def _class_by_class(row: Row, model: nn.Module, split: Split) -> Row:
    from ..audits.classes import by_class, confusion
    from ..inference import predict
    from ..splits import Part

    test = Part(split.data, split.data.test, "test")
    if not len(test):
        return row
    z, names = predict(model, test), split.data.classes
    seen = confusion(z, test.labels, split.named_classes, names)
    return replace(row, classes=by_class(z, test.labels, names), confusion=seen)


def typed() -> str:
    """The command as it was typed; ids of records, which a page keeps to itself, are left out.

    >>> sys.argv, before = ["sublimate", "erase", "--forget", "id:patient 7"], sys.argv
    >>> typed()
    "sublimate erase --forget 'id:…'"
    >>> sys.argv = before
    """
    hidden = ("id:", "--forget=id:", "--exclude=id:")
    words = (next((f"{start}…" for start in hidden if word.startswith(start)), word) for word in sys.argv[1:])
    return shlex.join(["sublimate", *words])


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
