"""One self-contained page of a folder of results: overview, tables, figures, and how each row was made."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ...bench.lines import YARDSTICKS, Block, Summary
from ...bench.summary import summarise
from ...files import AnyPath, write_whole
from ..classes import by_class, confusion
from ..page import find_template
from .charts import chart, described, legend
from .figures.saving import OWN_FIGURES, pictures
from .layout import clean
from .notes import warnings
from .parts import card, tables
from .rows import labelled, making
from .words import lead, meanings, ranking

if TYPE_CHECKING:
    from ...bench.results import Results, Row

Part = dict[str, Any]


def write(results: Results, path: AnyPath) -> None:
    """Write the page as one file that needs nothing else, neither network nor other files."""
    write_whole(path, render(results).encode("utf-8", "replace"))


def render(results: Results) -> str:
    """The page as HTML, a pure function of the results."""
    from plotly.offline import get_plotlyjs

    summaries = {one.id: summarise(results.rows, results.timings, one) for one in results.experiments.values()}
    drawings = list(pictures(results))
    drawn: list[Part] = []
    chapters = [_chapter(results, summary, drawings, drawn) for summary in summaries.values()]
    compared = [(summary, block) for summary in summaries.values() for block in _compared(summary)]
    used = {key for summary in summaries.values() for key in summary.experiment.measures}
    return find_template("bench/page.html.j2").render(
        lead=lead([block for _, block in compared]),
        size=_size(results),
        cards=[card(summary, block) | {"place": _place(chapters, summary)} for summary, block in compared],
        chapters=chapters,
        meanings=meanings([*used, "average_gap", "tow", "auc", "seconds", "efficiency", "samples", "audit"]),
        made=_made(results),
        drawn=drawn,
        plotly=get_plotlyjs() if drawn else "",
        version=metadata.version("sublimate"),
    )


def _compared(summary: Summary) -> list[Block]:
    """Settings that put methods beside each other, rather than variants or budgets of one."""
    experiment = summary.experiment
    if experiment.kind != "scores" or experiment.id in OWN_FIGURES:
        return []
    return [block for block in summary.blocks if ranking(block)]


def _place(chapters: Sequence[Part], summary: Summary) -> int:
    return next(place for place, chapter in enumerate(chapters) if chapter["id"] == summary.experiment.id)


def _chapter(results: Results, summary: Summary, drawings: Sequence[Any], drawn: list[Part]) -> Part:
    """One experiment: its charts are put behind those already drawn, and known by their number."""
    experiment, shown = summary.experiment, list[Part]()
    for picture in (one for one in drawings if one.experiment == experiment.id):
        grid = []
        for row in picture.grid:
            grid.append(
                [(panel.title, len(drawn) + place, described(picture, panel)) for place, panel in enumerate(row)]
            )
            drawn.extend(chart(panel, picture) for panel in row)
        shown.append({"picture": picture, "grid": grid, "legend": legend(picture) if picture.legend else []})
    own = [row for row in results.rows if row.experiment == experiment.id]
    return {
        "id": experiment.id,
        "experiment": experiment,
        "warnings": [clean(text) for text in warnings(experiment, summary.blocks)],
        "tables": tables(summary),
        "pictures": shown,
        "settings": [_setting(own, block) for block in summary.blocks],
        "figures_first": not _compared(summary),
    }


def _setting(rows: Sequence[Row], block: Block) -> Part:
    where = block.where
    own = [r for r in rows if (r.edition, r.scenario, r.data, r.model, r.views) == tuple(where)]
    return {
        "name": " · ".join((where.scenario, where.data, where.model, where.views)),
        "classes": by_class(labelled(own)),
        "confusion": confusion(labelled(own)),
        "lines": making(own),
    }


def _size(results: Results) -> Part:
    return {
        "experiments": len(results.experiments),
        "methods": len({row.method for row in results.rows} - set(YARDSTICKS)),
        "seeds": len({row.seed for row in results.rows}),
        "editions": list(dict.fromkeys(row.edition for row in results.rows)),
    }


def _made(results: Results) -> dict[str, str]:
    """What all was made with."""
    versions = {f"{name} {version}" for row in results.rows for name, version in row.versions.items()}
    threads = sorted({timing.threads for timing in results.timings})
    found = {
        "Rows": f"{len(results.rows):,}",
        "Training seeds": ", ".join(map(str, sorted({row.seed for row in results.rows}))),
        "Versions": ", ".join(sorted(versions)),
        "Threads while timed": ", ".join(map(str, threads)),
        "Devices while timed": ", ".join(sorted({timing.device for timing in results.timings if timing.device})),
        "Hosts while timed": str(len({timing.host for timing in results.timings}) or ""),
    }
    return {name: value for name, value in found.items() if value}
