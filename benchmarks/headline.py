"""Tables that pages show of docs/results/cpu: which method came how near to Retrain, and what all there is.

    python benchmarks/headline.py

The tables and figures of the folder are written anew, and then what the pages show of it: each table stands between
the two comments that name it.
"""

from __future__ import annotations

import re

from tables import RESULTS

from sublimate.bench.kinds import file_name
from sublimate.bench.lines import AVERAGE_GAP, Block, Estimate, Line
from sublimate.bench.results import read
from sublimate.bench.summary import summarise
from sublimate.cli.benching import render
from sublimate.cli.ui import Ui
from sublimate.files import write_whole
from sublimate.report.markdown import escape, table

CPU = RESULTS / "cpu"
MODEL = "he-resnet8"
SCENARIOS = {"full-class": "whole classes", "sub-class": "nine tenths of a class", "random": "a random tenth"}
MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}


def headline() -> str:
    """The methods of the paper and ours in the three scenarios of CIFAR-10."""
    blocks = [_block(scenario) for scenario in SCENARIOS]
    heads = ("approach", *(f"{name} ({_seeds(block)})" for name, block in zip(SCENARIOS.values(), blocks, strict=True)))
    by_label = [{line.label: line for line in block.lines} for block in blocks]
    rows = [
        [escape(line.label), *(_distance(lines[line.label]) for lines in by_label), *_cost(line)]
        for line in blocks[0].lines
    ]
    return "\n" + table((*heads, "images read", "share of Retrain’s time"), rows) + "\n\n"


def contents() -> str:
    """Every experiment of which there are rows: how many, of how many seeds, and where its table and figures are."""
    results = read(CPU)
    rows = []
    for id, experiment in results.experiments.items():
        own = [row for row in results.rows if row.experiment == id]
        name = file_name(id)
        figures = [_link(f"cpu/figures/{path.name}", path.stem) for path in sorted(CPU.glob(f"figures/{name}-*.png"))]
        seeds, made = len({row.seed for row in own}), _link(f"cpu/tables/{name}.md", experiment.title)
        rows.append([f"`{id}`", made, experiment.source or "–", str(seeds), str(len(own)), ", ".join(figures) or "–"])
    return "\n" + table(("id", "table", "in the paper", "seeds", "rows", "figures"), rows) + "\n\n"


TABLES = {
    "headline": (headline, (RESULTS.parents[1] / "README.md", RESULTS / "reading.md")),
    "contents": (contents, (RESULTS / "README.md",)),
}


def between(name: str, page: str, text: str) -> str:
    """The page with the table of today."""
    return re.sub(f"(?<=<!-- {name} -->\n).*(?=<!-- end of {name} -->)", lambda _: text, page, flags=re.DOTALL)


def _link(target: str, text: str) -> str:
    return f"[{escape(text)}]({target})"


def _block(scenario: str) -> Block:
    results = read(CPU)
    experiment = results.experiments[f"{scenario}/cifar10"]
    blocks = summarise(results.rows, results.timings, experiment).blocks
    return next(block for block in blocks if block.where.model == MODEL)


def _seeds(block: Block) -> str:
    most = max(line.seeds for line in block.lines)
    return f"{most} seed{'s' * (most > 1)}"


def _distance(line: Line) -> str:
    """Mean distance in points; × where the audit shows a difference, † where the method failed, in how many runs."""
    if line.method == "retrain":
        return "0"
    if len(line.failed) == line.seeds:
        return "fails"
    shown = MARKS.get(line.marks.get(AVERAGE_GAP, ""), "{}").format(_shown(line.average_gap))
    return shown + _counted("×", line.verdicts.get("FAIL", 0), line) + _counted("†", len(line.failed), line)


def _shown(distance: Estimate | None) -> str:
    if distance is None:
        return "–"
    return f"{distance.mean:.1f}" + (f" ± {distance.half:.1f}" if distance.half is not None else "")


def _counted(sign: str, count: int, line: Line) -> str:
    return "" if not count else f" {sign}" if line.seeds == 1 else f" {sign}{count}"


def _cost(line: Line) -> tuple[str, str]:
    """On whole classes: images that pass through the network, and time as a share of Retrain's."""
    read_ = f"{line.samples:,.0f}" if line.samples and line.method != "original" else "–"
    return read_, f"{100 / line.efficiency:.0f} %" if line.efficiency else "–"


if __name__ == "__main__":
    render(Ui(json=False, quiet=True), set(), CPU)
    for name, (make, pages) in TABLES.items():
        for page in pages:
            write_whole(page, between(name, page.read_text(encoding="utf-8"), make()).encode())
        print(make())
