"""Results that took hours stay found: the scripts that fill docs/results still ask for them by the keys they have."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from sublimate.plan.steps import order

ROOT = Path(__file__).parents[2]


SCRIPTS = ("methods", "assurance", "verdicts")


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
