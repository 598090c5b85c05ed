"""Results on the terminal: what stands in which cell, what is emphasised, and that nothing is cut."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from sublimate.bench.experiments import listed
from sublimate.bench.results import Audited, Row, Timing
from sublimate.bench.schema import Experiment
from sublimate.bench.summary import Summary, summarise
from sublimate.report.bench.digits import Shown
from sublimate.report.bench.tables import cell_text, terminal

BUILT_IN = {experiment.id: experiment for experiment in listed()}


def shown_at(width: int, summary: Summary, colour: str | None = None) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=colour, highlight=False)
    console.print(terminal(summary))
    return console.file.getvalue()


def measured(experiment: Experiment, place: int, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Wide figures, no two alike, so that each is found again."""
    figures = {key: 10.0 + place + number / 10 + seed / 100 for number, key in enumerate(experiment.measures)}
    gaps = {key: -figure - 1 for key, figure in figures.items()}
    return figures | ({"auc": 0.5123, "samples": 6_370_000} if experiment.kind == "scores" else {}), gaps


def made_up(experiment: Experiment, **facts: object) -> Summary:
    """Three seeds of everything that the cpu edition runs, nothing of it measured."""
    rows, timings, scores = [], [], experiment.kind == "scores"
    for place, (setting, case, method) in enumerate(experiment.pairs("cpu")):
        where = {"experiment": experiment.id, "edition": "cpu", "scenario": setting.scenario, "views": case.views}
        where |= {"data": case.data, "model": case.model, "label": method.label}
        for seed in range(3):
            figures, gaps = measured(experiment, place, seed)
            usual = where | {
                "kind": experiment.kind, "request": case.request, "method": method.name,
                "preset": method.preset, "options": method.chosen("cpu"), "few": None, "seed": seed,
                "seeds": {"train": seed}, "split": "f00d", "versions": {}, "n": {}, "figures": figures,
                "gap": gaps if scores else None, "average_gap": 12.345 if scores else None,
                "tow": 0.123 if scores else None, "epoch": 1.0 if experiment.kind == "curve" else None,
                "audit": Audited(verdict=("PASS", "FAIL", "INCONCLUSIVE")[seed], tier=1) if scores else None,
            }  # fmt: skip
            rows.append(Row(**(usual | facts)))
            timings.append(Timing(**where, seed=seed, seconds=12345.6, threads=2, host="here", at="then"))
    return summarise(rows, timings, experiment)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", BUILT_IN)
def test_nothing_is_cut(name, width):
    experiment = BUILT_IN[name]
    summary = made_up(experiment)
    text = shown_at(width, summary)
    assert "…" not in text and max(map(len, text.splitlines())) <= width
    if experiment.kind == "tsne":
        assert "There is nothing to put into a table" in text
        return
    words = set(re.split(r"[\s()±/‡§]+", text))
    for block in summary.blocks:
        for line in block.lines:
            assert experiment.kind == "kl" or set(line.label.split()) <= words  # one label only: not shown
            for measure, cell in line.cells.items():
                digits = 4 if "kl" in measure or "spread" in measure else 3 if measure == "auc" else 2
                numbers = (cell.measured and cell.measured.mean, cell.reported, cell.gap and cell.gap.mean)
                assert {f"{number:.{digits}f}" for number in numbers if number is not None} <= words
    if experiment.kind == "scores":
        assert {"12.35", "0.123", "0.512", "12,345.6", "6,370,000", "PASS", "FAIL", "INCONCLUSIVE"} <= words


def test_a_cell_by_hand():
    whole = Shown("98.60", "0.42", "-0.10", "0.30", "99.98", mark="best")
    assert cell_text(replace(whole, signs="§")).plain == "99.98§ / 98.60 ±0.42\n(-0.10 ±0.30)"
    assert cell_text(whole).plain == "99.98 / 98.60 ±0.42\n(-0.10 ±0.30)"
    assert cell_text(Shown("98.60", gap="+1.00")).plain == "98.60\n(+1.00)"
    assert cell_text(Shown("–")).plain == "–"


@pytest.mark.parametrize(("mark", "style"), [("best", "bold"), ("second", "underline")])
def test_only_what_was_measured_is_emphasised(mark, style):
    text = cell_text(Shown("98.60", "0.42", "-0.10", "0.30", "99.98", mark=mark))
    assert [(text.plain[span.start : span.end], span.style) for span in text.spans] == [("98.60", style)]


def small(**facts: object) -> Summary:
    """Table 1 with one row, and what it says of itself."""
    usual = {
        "kind": "scores", "experiment": "full-class/cifar10", "edition": "cpu", "scenario": "full-class",
        "data": "cifar10", "model": "he-resnet8", "views": "simple", "request": "class:cat", "method": "siamese",
        "label": "Siamese", "preset": "paper", "options": {}, "few": 1000, "seed": 0, "seeds": {"train": 0},
        "split": "f00d", "versions": {}, "n": {}, "figures": {"acc_dr": 98.0}, "gap": {"acc_dr": -1.25},
    }  # fmt: skip
    return summarise([Row(**(usual | facts))], [], BUILT_IN["full-class/cifar10"])


def test_a_table_by_hand():
    lines = [line.rstrip() for line in shown_at(120, small()).splitlines()]
    assert lines[2] == "full-class · cifar10 · he-resnet8 · simple · class:cat · edition cpu"
    assert [re.sub(" +", " ", line) for line in lines[4:8]] == [
        "Approach Acc_Dr Acc_Df TA_Dr TA_Df MIA",
        "─" * len(lines[5]),
        "Siamese 99.98 / 98.00 0.01 / – 94.29 / – 0.00 / – 0.00‡ / –",
        " (-1.25)",
    ]
    text = " ".join(lines)
    assert "One seed." in text and "as reported by the paper, Table 1 (vgg16-bn on cifar10, simple views)" in text
    assert f"‡ MIA: {BUILT_IN['full-class/cifar10'].remarks[0].text}" in text


def test_a_single_verdict_needs_no_count():
    text = shown_at(120, small(audit=Audited(verdict="FAIL", tier=1)))
    assert re.search(r"Siamese +FAIL", text) and "1 FAIL" not in text


def test_failed_is_told_with_its_cause():
    text = shown_at(200, small(failed="The network collapsed."))
    assert "Siamese †" in text and "\x1b" not in text
    assert "† Siamese failed, never ranked; the last good network is shown. The network collapsed." in text


def test_best_is_bold_and_yardsticks_are_dim():
    assert "\x1b[1m98.00\x1b[0m" in shown_at(120, small(), colour="standard")
    assert "\x1b[2mSiamese" in shown_at(120, small(method="retrain"), colour="standard")


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "x\\", ":cat:", "[link=file:x]y[/link]"])
def test_names_are_not_read_as_markup(name):
    assert shown_at(200, small(label=name, request=name, failed=name)).count(name) >= 4


def test_names_cannot_steer_the_terminal():
    text = shown_at(200, small(label="a\x1b[2Jb\r\nc", request="\x07", failed="\x9b2J"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) and "a�[2Jb��c" in text


def test_checks_stand_beside_the_terms():
    lines = shown_at(160, made_up(BUILT_IN["ablation/terms"])).splitlines()
    checks = {
        match[1].strip(): match[2].count("✓")
        for line in lines
        if (match := re.match(r"((?:KVC|CE)[A-Z+ ]*?)  +([✓ ]*)", line)) and "✓" in line
    }
    assert checks == {"CE": 1, "CE + ALP": 2, "KVC": 1, "KVC + CE": 2, "KVC + CE + ALP": 3}
