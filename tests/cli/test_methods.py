"""`sublimate methods` shows every method, in any width, and one card whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from sublimate import unlearn
from sublimate.unlearn import METHODS
from sublimate.unlearn.base import Unlearner
from sublimate.unlearn.card import Card


@dataclass(frozen=True, kw_only=True)
class Foreign(Unlearner):
    """Of another package."""

    name = "foreign"
    card = Card(title="Foreign", source="Doe, Roe: Things, 2024", formula="θ ← [bold]θ₀[/bold]", memory="[b]P")

    def reads(self, forget, retain):
        return {"forget": 2 * forget}

    def phases(self, job):
        return iter(())


@pytest.fixture
def listed(monkeypatch, call):
    def listed(*args, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        return call("methods", *args)

    return listed


@pytest.fixture
def packages(monkeypatch):
    """Two installed packages with a method each, one of them broken."""

    def broken():
        raise ImportError("no such thing")

    points = [
        SimpleNamespace(name="foreign", load=lambda: Foreign),
        SimpleNamespace(name="broken", load=broken),
    ]
    monkeypatch.setattr(unlearn, "entry_points", lambda group: points if group == "sublimate.methods" else [])


def words(out):
    return " ".join(out.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_every_method_has_a_row_that_fits(listed, packages, columns):
    code, out, err = listed(columns=columns)
    assert code == 0 and max(map(len, out.splitlines())) <= columns
    first = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert all(name in first for name in (*METHODS, "foreign")) and "broken" not in first
    assert "…" not in out  # nothing is cut
    assert "5,000 forgotten of 50,000 records" in words(out)
    row = next(line for line in out.splitlines() if line.startswith("siamese "))
    assert row.split()[1:6] == ["all", "3", "15", "×", "1,000"]
    assert "[b]P" in out  # no markup
    assert "The method broken of another package does not work" in words(err) and "no such thing" in words(err)


def test_json_has_all_facts(listed, packages):
    code, out, err = listed("--json")
    assert code == 0 and "Method" in err
    found = json.loads(out)
    assert found["reference"] == {"forget": 5000, "retain": 45000}
    by_name = {facts["name"]: facts for facts in found["methods"]}
    assert list(by_name) == [*METHODS, "foreign"]
    assert by_name["foreign"]["reads"] == {"forget": 10_000, "retain": 0}
    siamese = by_name["siamese"]
    assert siamese["few"] == 1000 and siamese["reads"] == {"forget": 15_072, "retain": 15_360}
    assert siamese["options"]["lr"] == 1e-4 and siamese["scenarios"] == ["full-class", "sub-class", "random", "records"]
    assert {"summary", "needs_records", "title", "source", "formula", "memory", "authors", "pitfalls"} <= set(siamese)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("columns", [80, 120])
def test_a_card_is_whole(listed, name, columns):
    code, out, _ = listed(name, columns=columns)
    card = METHODS[name].card
    assert code == 0 and max(map(len, out.splitlines())) <= columns
    assert words(card.formula)[:40] in words(out)
    for text in (card.values, *card.pitfalls, *card.deviations):
        assert words(text.replace("`", "")) in words(out)
    for option in METHODS[name]().options():
        assert option in out


def test_a_card_as_json_and_of_another_package(listed, packages):
    code, out, _ = listed("foreign", "--json")
    assert code == 0 and json.loads(out)["formula"] == Foreign.card.formula
    code, out, _ = listed("foreign")
    assert "[bold]θ₀[/bold]" in out


def test_an_unknown_method(listed):
    code, out, err = listed("siamse")
    assert code == 2 and not out and "nearest first: siamese" in words(err)
