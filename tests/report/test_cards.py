"""What a card says is what the class says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sublimate.report.cards import card_markdown, index_markdown, kind
from sublimate.report.markdown import escape, table, value
from sublimate.report.methods import counts, in_words, passes, scenarios, shorten
from sublimate.unlearn import METHODS
from sublimate.unlearn.base import Unlearner
from sublimate.unlearn.card import WHOLE_CLASSES, Card

PAGES = Path(__file__).resolve().parents[2] / "docs" / "methods"


@dataclass(frozen=True, kw_only=True)
class Odd(Unlearner):
    """Says a|b of *itself*.

    And more.
    """

    name = "odd"
    few = 300
    scenarios = WHOLE_CLASSES
    needs_records = True
    anew = True
    card = Card(
        title="Odd <b>",
        source="Doe, Roe: Odd 1999 things, NeurIPS 2024, arXiv 2003.02960",
        formula="a | b = *c*",
        memory="2P | more",
        authors={"lr": 1e-5, "mode": "b"},
        pitfalls=("# not a heading", "1. not a number"),
    )
    lr: float = 0.5
    mode: Literal["a", "b"] = "a"
    clip: float | None = None
    hook: Callable[[int], int] = abs

    def reads(self, forget, retain):
        return {"retain": 2 * retain + 30}

    def phases(self, job):
        return iter(())


@pytest.mark.parametrize("name", METHODS)
def test_the_committed_card_is_what_the_class_says(name):
    page = PAGES / f"{name}.md"
    assert page.exists() and page.read_text(encoding="utf-8") == card_markdown(METHODS[name]), "run `make cards`"


def test_the_committed_index_is_of_these_methods():
    assert {page.stem for page in PAGES.iterdir()} == {*METHODS, "README"}, "run `make cards`"
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert index == index_markdown(METHODS.values()), "run `make cards`"
    assert all((PAGES / target).exists() for target in re.findall(r"\]\(([^)]+)\)", index))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_as_its_card_claims(name):
    cls = METHODS[name]
    assert cls.name == name
    cls(**cls.card.authors)  # what `--preset paper` does
    page = card_markdown(cls)
    assert cls.card.formula in page and all(f"| `{f.name}` |" in page for f in fields(cls))


def test_the_module_writes_the_pages(tmp_path):
    subprocess.run([sys.executable, "-m", "sublimate.report.cards", str(tmp_path / "new" / "folder")], check=True)
    written = {page.name: page.read_bytes() for page in (tmp_path / "new" / "folder").iterdir()}
    assert written == {page.name: page.read_bytes() for page in PAGES.iterdir()}


def test_a_card_shows_all_there_is():
    page = card_markdown(Odd)
    assert page.startswith("# Odd \\<b>\n\n`odd`: Says a\\|b of \\*itself\\*.\n\n```text\na | b = *c*\n```\n")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `lr` | float | `0.5` | `1e-05` |",
        "| `mode` | `a`, `b` | `a` | `b` |",
        "| `clip` | float or none | `none` |  |",
        "| `hook` | function | `builtins:abs` |  |",
        "| `seed` | int | `0` |  |",
        "| `norm` | `eval`, `train` | `train` |  |",
    ]
    assert "| 2P \\| more |" in page and "| random weights |" in page and "| needed |" in page
    assert "- \\# not a heading\n- 1\\. not a number" in page
    assert "[arXiv 2003.02960](https://arxiv.org/abs/2003.02960)" in page
    assert "public code" not in page  # no deviations, no heading


def test_what_a_method_reads():
    # 2 · 300 + 30 records of the 300 it asks for, none of D_f
    assert counts(Odd) == {"forget": 0, "retain": 630}
    assert passes(Odd) == ("–", "2.1 × 300")
    assert in_words(Odd) == "D_f: none; D_r: 630 records in 2.1 passes over 300"
    assert scenarios(Odd) == "full-class"
    # 40 batches of 128, the last of 8 filled to 32: 3 · (39 · 128 + 32) and 3 · 40 · 128
    siamese = METHODS["siamese"]
    assert counts(siamese) == {"forget": 15_072, "retain": 15_360}
    assert passes(siamese) == ("3", "15 × 1,000") and scenarios(siamese) == "all"


def test_all_of_d_r_means_forty_five_thousand():
    class All(Odd):
        few = "all"

        def reads(self, forget, retain):
            return {"forget": forget, "retain": 20 * retain}

    assert counts(All) == {"forget": 5_000, "retain": 900_000} and passes(All) == ("1", "20")
    assert in_words(All) == "D_f: 5,000 records in 1 pass; D_r: 900,000 records in 20 passes"


@pytest.mark.parametrize(
    ("source", "short"),
    [
        (Odd.card.source, "Doe et al. 2024"),
        ("Doe: Alone, 2021, arXiv 2003.02960", "Doe 2021"),
        ("Doe and Roe: No year, arXiv 2003.02960", "Doe et al."),
        ("Doe, Roe: Said, 2015, arXiv 1503.02960; as a baseline: Poe: Else, 2023", "Doe et al. 2015"),
        ("Doe et al. 2020", "Doe et al. 2020"),
        ("none: a yardstick", "–"),
    ],
)
def test_a_source_in_short(source, short):
    assert shorten(source) == short


def test_types_in_words():
    assert [kind(hint) for hint in (int, bool | None, str | Callable[[int], int], list[str], Literal[1, 2])] == [
        "int", "bool or none", "str or function", "list of str", "`1`, `2`",
    ]  # fmt: skip


def shown(markdown):
    """The plain text that a reader of the page sees."""

    def words(tokens):
        return "".join(token.content if not token.children else words(token.children) for token in tokens)

    return words([t for t in MarkdownIt("gfm-like", {"linkify": False}).parse(markdown) if t.type == "inline"])


@given(st.text(alphabet="ab1_*|\\<>[](){}#!~&;:.-+=` '\"", max_size=30))
def test_a_text_is_shown_as_it_is(text):
    plain = " ".join(text.replace("`", "'").split())
    assert shown(escape(plain)) == plain
    assert shown(f"- {escape(plain)}") == plain
    cells = table(("a", "b"), [(escape(plain), "end")])
    assert shown(cells) == f"ab{plain}end"


@given(st.text(alphabet="ab1_*|<>&;' ", max_size=20).map(str.strip).filter(bool))
def test_a_value_is_shown_as_it_is(text):
    assert shown(table(("a", "b"), [(value(text), "end")])) == f"ab{text}end"
