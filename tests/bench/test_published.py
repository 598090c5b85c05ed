"""Results that took hours stay found: the scripts that fill docs/results still ask for them by the keys they have."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def methods(monkeypatch: pytest.MonkeyPatch):
    """The script, without what it would leave among the modules."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("methods", "tables"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("methods")
    for name in ("methods", "tables"):
        sys.modules.pop(name, None)


def test_published_networks_that_no_method_touched_keep_their_keys(methods) -> None:
    """Those of the methods change with the revision of the method; training and figures never do here."""
    published = ROOT / "docs" / "results" / "methods-fashion-mini.jsonl"
    rows = [json.loads(line) for line in published.read_text().splitlines()]
    kept = {row["key"] for row in rows if row["method"] in ("original", "retrain")}
    assert len(kept) == 18  # two networks, three scenarios, three seeds
    assert kept <= {step.key for _, step in methods.declared("fashion-mini", ["original", "retrain"], [])}
