"""What stands below a table of results: how to read it, where its figures come from, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...bench.lines import AVERAGE_GAP, Block, Line, Summary
from ...bench.planning import AUDITED, ON_CURVES
from ...bench.schema import Experiment
from .digits import CONTAMINATED, HEADS, REMARKED
from .layout import FAILED, Sheet, clean, sheets
from .words import listed, nobody_can

EXTRAS = {
    AVERAGE_GAP: "Avg gap: mean distance to Retrain, without sign, over the accuracies and MIA; 0 is Retrain.",
    "tow": "ToW: product of 1 - distance to Retrain over Acc_Df, Acc_Dr and test accuracy; 1 is Retrain.",
    "auc": "AUC: forgotten against never-seen records by confidence; 0.5 where they cannot be told apart.",
    "samples": "Images read: by the method in all its passes, probes for its values included.",
    "audit": f"Audit: verdicts of tier 1 over the seeds, on at most {AUDITED:,} records of each part.",
}
NO_TABLE = "There is nothing to put into a table: points of figures only, or nothing run yet."


def heading(summary: Summary) -> str:
    """The title of an experiment and the place in the paper."""
    experiment = summary.experiment
    return clean(experiment.title + (f" ({experiment.source})" if experiment.source else ""))


def told_once(summary: Summary) -> Iterator[tuple[Sheet, list[str]]]:
    """The sheets, each with the footnotes that no sheet before it has told; failures always."""
    told: set[str] = set()
    for sheet in sheets(summary):
        new = [note for note in notes(summary, sheet) if note not in told or note.startswith(FAILED)]
        told.update(new)
        yield sheet, new


def notes(summary: Summary, sheet: Sheet) -> list[str]:
    """The footnotes of one sheet, as plain text; only of what it shows."""
    return [
        clean(note)
        for note in (*_said(summary), *_reading(sheet), *_reported(summary, sheet), *_further(summary, sheet))
    ]


def _said(summary: Summary) -> Iterator[str]:
    if summary.experiment.note:
        yield summary.experiment.note


def _reading(sheet: Sheet) -> Iterator[str]:
    lines, cells = _lines(sheet), [cell for line in sheet.lines for cell in line.cells]
    seeds = sorted({line.seeds for line in lines})
    over = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else "one seed" if seeds == [1] else f"{seeds[0]} seeds"
    spread = ", ± half the width of the 95 % t interval" if any(cell.half for cell in cells) else ""
    yield f"Means over {over}{spread}." if seeds != [1] else "One seed."
    if any(cell.gap for cell in cells):
        yield "In brackets: distance to Retrain of the same seed, in points; near 0 is good, on both sides."
    if any(cell.mark for cell in cells):
        yield "Nearest to Retrain by the digits shown: bold; second nearest: underlined."
    yield from dict.fromkeys(_failure(line) for line in lines if line.failed)


def _failure(line: Line) -> str:
    of = f" in {len(line.failed)} of {line.seeds} seeds" if line.seeds > 1 else ""
    causes = " ".join(dict.fromkeys(line.failed))
    return f"{FAILED} {line.label} failed{of}, never ranked; the last good network is shown. {causes}"


def _reported(summary: Summary, sheet: Sheet) -> Iterator[str]:
    if not any(cell.reported for line in sheet.lines for cell in line.cells):
        return
    experiment = summary.experiment
    source = f" by the paper, {experiment.source}" if experiment.source else ""
    yield f"Before the slash: as reported{source}{papers(experiment, sheet.blocks)}; after it: measured."
    yield from warnings(experiment, sheet.blocks)


def papers(experiment: Experiment, blocks: Iterable[Block]) -> str:
    """With which networks, data and views the figures were made that stand beside those of these settings."""
    found = dict[str, dict[str, None]]()
    for block in blocks:
        for setting in experiment.settings:
            case = setting.case(block.where.edition)
            if case and setting.paper and (setting.scenario, case.data, case.model, case.views) == block.where[1:]:
                found.setdefault(f"{setting.paper.model} on {setting.paper.data}", {})[setting.paper.views] = None
    told = [f"{made}, {listed(list(views))} views" for made, views in found.items()]
    return f" ({'; '.join(told)})" if told else ""


def warnings(experiment: Experiment, blocks: Iterable[Block]) -> Iterator[str]:
    """What the signs beside the reported figures of these settings mean."""
    printed = [
        (experiment.keys(**block.where._asdict()), line.label, measure)
        for block in blocks
        for line in block.lines
        for measure, cell in line.cells.items()
        if cell.reported is not None
    ]
    for key, text in experiment.contaminated.items():
        if any(key in keys for keys, _, _ in printed):
            yield f"{CONTAMINATED} Reported reference contaminated: {text}"
    for remark in experiment.remarks:
        if any(remark.concerns(label, measure, keys) for keys, label, measure in printed):
            about = ", ".join([*remark.labels, *(HEADS[measure] for measure in remark.measures)])
            yield f"{REMARKED} {about and about + ': '}{remark.text}"


def limits(sheet: Sheet) -> Iterator[str]:
    """What limits these figures: an audit that nobody can pass, and test records that served for choosing."""
    if "audit" in sheet.extras:
        yield from dict.fromkeys(said for block in sheet.blocks if (said := nobody_can(block)))
    chosen = max(block.chosen_on for block in sheet.blocks)
    tested = [HEADS[measure] for measure in sheet.measures if measure.startswith("ta")]
    if any(line.epoch is not None for line in _lines(sheet)):
        yield f"All figures are on at most {ON_CURVES:,} records of each part."
    elif chosen and tested:
        yield f"{listed(tested)}: on all test records, of which {chosen:,} served for choosing (rates, when to stop)."


def _further(summary: Summary, sheet: Sheet) -> Iterator[str]:
    yield from limits(sheet)
    yield from (text for key, text in EXTRAS.items() if key in sheet.extras)
    if "seconds" in sheet.extras:
        threads = " or ".join(map(str, summary.threads)) + (" thread" if summary.threads == (1,) else " threads")
        machines = f", {summary.hosts} machines" if summary.hosts > 1 else ""
        on = f" on {' or '.join(summary.devices)}" if summary.devices else ""
        yield f"Seconds: median, of the method alone ({threads}{on}{machines})."
    if "efficiency" in sheet.extras:
        yield "RTE: seconds of Retrain / seconds of the method, median over seeds."


def _lines(sheet: Sheet) -> list[Line]:
    return [line for block in sheet.blocks for line in block.lines]
