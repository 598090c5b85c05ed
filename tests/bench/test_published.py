"""Results that took hours stay found: the scripts that fill docs/results still ask for them by the keys they have."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from sublimate.plan.steps import order

ROOT = Path(__file__).parents[2]


SCRIPTS = ("methods", "assurance", "verdicts", "headline")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch):
    """The scripts by name, without what they would leave among the modules."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in (*SCRIPTS, "tables"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {name: importlib.import_module(name) for name in SCRIPTS}
    for name in (*SCRIPTS, "tables"):
        sys.modules.pop(name, None)


@pytest.fixture
def methods(scripts):
    return scripts["methods"]


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("methods", ("fashion-mini", [], [])),
        ("assurance", ("digits", 2)),
        ("assurance", ("cifar", 2, 1)),
        ("verdicts", ("fashion-mini",)),
        ("verdicts", ("cifar10",)),
    ],
)
def test_every_row_has_a_step_of_its_own(scripts, script: str, arguments: tuple[object, ...]) -> None:
    steps = [step for _, step in scripts[script].declared(*arguments)]
    assert len({step.key for step in steps}) == len(steps) > 1
    assert len(order(steps)) >= len(steps)  # and no two of one name


def test_published_networks_that_no_method_touched_keep_their_keys(methods) -> None:
    """Those of the methods change with the revision of the method; training and figures never do here."""
    published = ROOT / "docs" / "results" / "methods-fashion-mini.jsonl"
    rows = [json.loads(line) for line in published.read_text().splitlines()]
    kept = {row["key"] for row in rows if row["method"] in ("original", "retrain")}
    assert len(kept) == 18  # two networks, three scenarios, three seeds
    assert kept <= {step.key for _, step in methods.declared("fashion-mini", ["original", "retrain"], [])}


@pytest.mark.parametrize(
    ("revision", "others"),
    [
        ("methods.training.REVISION", {"original", "retrain", "finetune", "sisa"}),
        ("methods.evaluation.REVISION", set()),
        ("methods.analysis.REVISION", set()),
        ("sublimate.unlearn.sisa.Sisa.revision", {"sisa"}),
    ],
)
def test_other_code_behind_a_row_is_another_key(methods, revision: str, others: set[str], monkeypatch) -> None:
    def keys() -> dict[str, tuple[str, str]]:
        """Of figures, and of the network."""
        rows = methods.declared("fashion-mini", ["original", "retrain", "finetune", "sisa"], [])
        return {f"{row['method']} {row['scenario']} {row['seed']}": (s.key, s.needs[0].key) for row, s in rows}

    before = keys()
    monkeypatch.setattr(revision, "next")
    after = keys()
    networks = {name.split()[0] for name in before if before[name][1] != after[name][1]}
    figures = {name.split()[0] for name in before if before[name][0] != after[name][0]}
    assert networks == others
    assert figures == (others or {"original", "retrain", "finetune", "sisa"})


def test_tables_on_pages_are_those_of_the_rows(scripts) -> None:
    script = scripts["headline"]
    for name, (make, pages) in script.TABLES.items():
        for page in pages:
            shown = page.read_text(encoding="utf-8")
            assert shown.count(make()) == 1, f"{page.name} is behind its rows: python benchmarks/headline.py"
            assert script.between(name, shown.replace(make(), "\nold\n"), make()) == shown


def test_figures_of_the_headline_worked_out_from_the_rows(scripts) -> None:
    """The mean over the runs of a method that is not ruined in any scenario."""
    rows = [json.loads(line) for line in (ROOT / "docs/results/cpu/rows.jsonl").read_text().splitlines()]
    lines = [line.split(" | ") for line in scripts["headline"].headline().splitlines()]
    for label in ("Finetune", "Siamese", "Siamese auto", "Siamese matched"):
        (cells,) = (cells for cells in lines if cells[0] == f"| {label}")
        for scenario, cell in zip(("full-class", "sub-class", "random"), cells[1:4], strict=True):
            own = [
                row["average_gap"]
                for row in rows
                if (row["experiment"], row["model"], row["label"]) == (f"{scenario}/cifar10", "he-resnet8", label)
            ]
            figure = re.sub(r"[*]|</?ins>", "", cell).split()[0]
            assert figure == f"{sum(own) / len(own):.1f}"
