"""An audit on the terminal, from made-up results."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sublimate.audits.result import Audit, Compute, Test, Worst
from sublimate.report.audit.tables import audit_lines, test_table, verdict_line
from sublimate.report.audit.text import change, cost, family_of, interval, meaning_of, outcome_word, power, value_text
from sublimate.report.audit.words import FAMILIES, OTHERS

HOSTILE = "[red]\x1b[2J<b>cat</b>"


def printed(found: Audit, ids: tuple[str, ...] = (), width: int = 80, color: str | None = None) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=color, highlight=False)
    for line in audit_lines(found, ids):
        console.print(line)
    return console.file.getvalue()


def one(name: str, **facts: object) -> Test:
    return Test(**({"name": name, "tier": 1, "n_forget": 9, "n_control": 9, "outcome": "reported"} | facts))


@pytest.mark.parametrize(
    ("verdict", "first", "colour"),
    [
        ("PASS", "✓ PASS (tier 1)  As far as was tested, the forgotten records as a crowd look like records", "32"),
        ("FAIL", "✕ FAIL (tier 1)  The forgotten records can be told from records that the network", "31"),
        ("INCONCLUSIVE", "? INCONCLUSIVE (tier 1)  Neither was shown: no verdict can be given.", "33"),
    ],
)
def test_the_verdict_comes_first_in_words_and_colour(made_up, verdict, first, colour):
    found = made_up(verdict)
    assert printed(found, width=400).splitlines()[0].startswith(first)
    assert f"\x1b[1;{colour}m{first.split(' (')[0]}" in printed(found, color="standard")
    assert verdict_line(found).plain in printed(found, width=400)


def test_reasons_follow_the_verdict(made_up):
    assert printed(made_up(), width=200).splitlines()[1:3] == [
        "  A first reason.".ljust(200),
        "  A second reason.".ljust(200),
    ]


def test_the_table_by_hand(made_up):
    columns = {str(c.header): [str(cell) for cell in c.cells] for c in test_table(made_up()).columns}
    assert columns == {
        "Test": ["AUC, confidence", "found at 1.0% false alarms, above", "Return of the class, 5 shown"],
        "Value": ["0.600", "2.5 %", "−2.5 pt"],
        "Interval": ["0.550–0.650", "1.0–5.0 %", ""],
        "n": ["400/1000", "400/1000", "97/97"],
        "p": ["<0.001", "–", "1.000"],
        "Outcome": ["different", "reported", "nothing shown"],
    }


def test_everything_is_told(made_up):
    text = " ".join(printed(made_up("INCONCLUSIVE"), width=400).split())
    for words in (
        "Condition not met, enough records: So many records.",
        "Rest of the network: accuracy 90.0 → 89.2 %, near the forgotten 99.0 → 97.5 %;",
        "exposure of the retained (AUC) 0.600 → 0.580, calibration error 0.050 → 0.062.",
        "The smallest leak found four times out of five is |AUC − 0.5| = 0.044; a smaller one may go unnoticed.",
        "Differences below δ = 0.050 count as alike.",
        "fitted on 2,800 records, calls 61.2 % of the forgotten ones members before, 3.0 % after. Not a verdict.",
        "Not tested: something that tier 2 looks at.",
        "Skipped: relearning: There are too few records.",
        "Cost: 12,345 images through a network, 61.3 seconds.",
    ):
        assert words in text
    assert "fair attack" not in text  # it holds
    assert "Condition" not in printed(made_up("INCONCLUSIVE", reasons=["So many records."]))  # it was told


def test_plain_ids_stand_beside_pseudonyms(made_up):
    lines = [line.split() for line in printed(made_up(), ids=("img-7", "img-19")).splitlines()]
    assert ["img-7", "record", "1", "cat", "9.25", "0.0", "%"] in lines
    assert ["img-19", "record", "2", "cat", "-7.50", "99.5", "%"] in lines


def test_nothing_is_cut_at_eighty_columns(made_up):
    text = printed(made_up(), ids=("a-folder/of-a-patient/with-a-long-name/0017.png", "b"))
    assert "…" not in text and max(map(len, text.splitlines())) <= 80


def test_names_of_users_neither_style_nor_steer(made_up):
    tests = [one(f"Neighbour classes, {HOSTILE}", detail={"says": HOSTILE})]
    worst = [Worst(pseudonym="record 1", label=HOSTILE, phi=0.0, share_above=0.5)]
    text = printed(made_up(tests=tests, worst=worst, reasons=[HOSTILE], not_tested=[HOSTILE]), (HOSTILE,), width=300)
    assert "\x1b" not in text
    assert text.count("[red]\N{REPLACEMENT CHARACTER}[2J<b>cat</b>") == 5


def test_too_few_records_and_nothing_to_erase():
    assert power(Audit.model_construct(smallest_detectable=None, delta=None)) == (
        "With so few records no leak, however large, is found four times out of five. "
        "The original shows no leak, so there is no tolerance δ to judge by."
    )


def test_the_page_says_how_often_a_perfect_erasure_is_seen():
    said = power(Audit.model_construct(smallest_detectable=0.05, delta=0.05, chance_alike=0.784))
    assert said.endswith(
        "Differences below δ = 0.050 count as alike. "
        "With so many records a perfect erasure is shown to be one in 78 % of audits."
    )


def test_attacks_cost_steps():
    spent = Compute(images=1, steps=2500, seconds=0.5)
    assert cost(Audit.model_construct(compute=spent)) == (
        "1 images through a network, 2,500 training steps of attacks, 0.5 seconds"
    )


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        (one("AUC, loss", value=0.5, low=0.45, high=0.55), ("0.500", "0.450–0.550")),
        (one("Class still known", value=0.125, low=0.0, high=0.3), ("12.5 %", "0.0–30.0 %")),
        (one("Canaries, pairs", value=0.5, low=0.25, high=0.75), ("50.0 %", "25.0–75.0 %")),
        (one("Canaries, AUC", value=0.5), ("0.500", "")),
        (one("Extreme records", value=0.04), ("0.0 pt", "")),
        (one("Something new", value=1.23456), ("1.235", "")),
        (one("ε, lower bound"), ("–", "")),
    ],
)
def test_values_have_their_unit(test, shown):
    assert (value_text(test, test.value), interval(test)) == shown


def test_every_beginning_belongs_to_one_family():
    begins = [begin for family in FAMILIES for begin in family.units]
    assert len(set(begins)) == len(begins)
    assert all(family_of(one(begin)) is family for family in FAMILIES for begin in family.units)
    assert family_of(one("Something new")) is OTHERS


def test_a_test_that_could_have_shown_something_is_told_apart():
    assert outcome_word(one("RMIA", p_different=0.5)) == "nothing shown"
    assert outcome_word(one("Classes in the features")) == "reported"
    assert outcome_word(one("RMIA", p_different=0.01, outcome="different")) == "different"


def test_harm_has_its_unit(made_up):
    assert (
        change(made_up(), "accuracy") == "90.0 → 89.2 %" and change(made_up(), "calibration error") == "0.050 → 0.062"
    )


@pytest.mark.parametrize(
    ("name", "detail", "word"),
    [
        ("ε, lower bound", {}, "nothing shown"),
        ("Class still known", {}, "nothing shown"),
        ("Unchanged weights", {}, "nothing shown"),
        ("Neighbour classes, cat", {"decides": True}, "nothing shown"),
        ("Neighbour classes, cat", {"decides": False}, "reported"),  # beside one reference
        ("Classes in the features", {}, "reported"),
    ],
)
def test_what_could_have_told_is_not_called_a_mere_figure(name, detail, word):
    assert outcome_word(one(name, detail=detail)) == word


@pytest.mark.parametrize(
    ("telling", "line"),
    [
        (["AUC, loss", "Unchanged weights"], "The forgotten records can be told"),
        (["Unchanged weights"], "What was to be forgotten is still in the network"),
        (["Class still known", "Return of the class"], "What was to be forgotten is still in the network"),
        (["Class still known", "Neighbour classes, cat"], "What was to be forgotten is still in the network"),
        (["Neighbour classes, cat"], "Images of the forgotten classes are taken for other classes"),
    ],
)
def test_the_headline_of_a_fail_fits_what_tells(made_up, telling, line):
    found = made_up(tests=[one(name, outcome="different") for name in telling] + [one("AUC, margin", outcome="alike")])
    assert meaning_of(found).line.startswith(line) and line in verdict_line(found).plain


def test_little_is_not_printed_as_nothing():
    assert value_text(one("ε, lower bound"), 0.0003) == "0.0003" and value_text(one("ε, lower bound"), 0.0) == "0.000"
