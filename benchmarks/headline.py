"""Which method came how near to Retrain: one table for README and docs/results/reading.md, from docs/results/cpu.

    python benchmarks/headline.py

It is written between the two comments that name it on these pages.
"""

from __future__ import annotations

import re
from pathlib import Path

from tables import RESULTS

from sublimate.bench.lines import AVERAGE_GAP, Block, Estimate, Line
from sublimate.bench.results import read
from sublimate.bench.summary import summarise
from sublimate.files import write_whole
from sublimate.report.markdown import escape, table

PAGES = (RESULTS.parents[1] / "README.md", RESULTS / "reading.md")
MODEL = "he-resnet8"
SCENARIOS = {"full-class": "whole classes", "sub-class": "nine tenths of a class", "random": "a random tenth"}
MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}
WHERE = re.compile(r"(?<=<!-- headline -->\n).*(?=<!-- end of headline -->)", re.DOTALL)


def headline(folder: Path = RESULTS / "cpu") -> str:
    """The methods of the paper and ours in the three scenarios of CIFAR-10."""
    blocks = [_block(folder, scenario) for scenario in SCENARIOS]
    heads = ("approach", *(f"{name} ({_seeds(block)})" for name, block in zip(SCENARIOS.values(), blocks, strict=True)))
    by_label = [{line.label: line for line in block.lines} for block in blocks]
    rows = [
        [escape(line.label), *(_distance(lines[line.label]) for lines in by_label), *_cost(line)]
        for line in blocks[0].lines
    ]
    return "\n" + table((*heads, "images read", "share of Retrain’s time"), rows) + "\n\n"


def with_headline(page: str, text: str) -> str:
    """The page with the table of today."""
    return WHERE.sub(lambda _: text, page)


def _block(folder: Path, scenario: str) -> Block:
    results = read(folder)
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
    for page in PAGES:
        write_whole(page, with_headline(page.read_text(encoding="utf-8"), headline()).encode())
    print(headline())
