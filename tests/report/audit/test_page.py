"""The section of the page, from made-up results: read as a browser would, never trusted as text."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import pairwise

import pytest
from parsed_page import Parsed
from plotly.offline import get_plotlyjs

from sublimate.audits.evaluation import Scores
from sublimate.audits.result import Audit, Gate, Skipped, Test, Worst
from sublimate.report.audit.charts import audit_charts
from sublimate.report.audit.words import MEANINGS
from sublimate.report.page import render
from sublimate.report.rows import Row, Story

HOSTILE = """<script>alert("1")</script><img src=x onerror='y'>{{ 7*7 }}{% raw %}--></style>"""
NAN = float("nan")


def story(found: Audit | None, rows: tuple[Row, ...] = ()) -> Story:
    return Story(
        title="An audit", request="class:cat", data="cifar10", model="he-resnet8", split="f00dcafe",
        counts={"forget": 400}, rows=rows, audit=found,
    )  # fmt: skip


def page_of(found: Audit | None, *rows: Row) -> str:
    return render(story(found, rows)).replace(get_plotlyjs(), "/* plotly */")


@pytest.mark.parametrize(
    ("verdict", "icon", "words"),
    [
        ("PASS", "✓", "look like records that the network never saw"),
        ("FAIL", "✕", "can be told from records that the network never saw"),
        ("INCONCLUSIVE", "?", "no verdict can be given"),
    ],
)
def test_the_banner_has_word_icon_and_colour(made_up, verdict, icon, words):
    page = page_of(made_up(verdict))
    parsed = Parsed(page)
    (section,) = parsed.texts("section", class_=f"verdict {verdict.lower()}")
    assert parsed.texts("h2")[0] == f"Verdict of the audit: {verdict}"  # before all else
    assert parsed.texts("span", class_="icon") == [icon]
    assert words in section and "A first reason." in section
    assert f".verdict.{verdict.lower()} " in page or verdict == "INCONCLUSIVE"  # its own colour; the last has the usual


def test_a_pass_claims_no_more_than_it_may(made_up):
    text = Parsed(page_of(made_up("PASS"))).texts("main")[0]
    denial = "Do not read it as “deleted”, “forgotten” or “compliant with the law”."
    assert denial in text
    rest = text.replace(denial, "")
    assert not re.search(r"deleted|GDPR|complian|guarantee|certif|(?<!to be )(is|are|was|were|been) forgotten", rest)
    for verdict, meaning in MEANINGS.items():
        assert verdict in ("PASS", "FAIL") or "no weak PASS" in meaning.not_means


def test_tests_stand_by_the_question_they_ask(made_up):
    parsed = Parsed(page_of(made_up()))
    tables = parsed.all("table", class_="tests")
    titles = [
        text for text in parsed.texts("caption") if text in ("All records together", "After a little more training")
    ]
    assert len(tables) == 3 and len(titles) == 2
    rows = parsed.texts("tr")
    assert "AUC, confidence ✕ different 0.600 0.550–0.650 400 / 1,000 <0.001 0.250" in rows
    assert (
        "found at 1.0% false alarms, aboveFalse alarms may be up to 1.8 %. · reported 2.5 % 1.0–5.0 % 400 / 1,000 –"
    ) in rows
    assert (
        "Return of the class, 5 shownAfter the same updates less is known. · nothing shown −2.5 pt – 97 / 97 1.000"
    ) in rows


def test_the_legend_says_which_tests_count_from_where(made_up):
    text = Parsed(page_of(made_up())).texts("main")[0]
    assert "Below 0.05 counts as shown where all records are taken together" in text
    assert "a difference by any other test counts below 0.01" in text


def test_all_the_rest_is_there(made_up):
    parsed = Parsed(page_of(made_up("INCONCLUSIVE")))
    text = parsed.texts("main")[0]
    for words in (
        "✓Fair attack: holds. It is fair.",
        "✕Enough records: not met. So many records.",
        "|AUC − 0.5| = 0.044",
        "This is not a verdict",
        "Something that tier 2 looks at.",
        "Relearning: There are too few records.",
        "Looked at: 400 forgotten records, 1,000 never-seen records, 2,000 retained records.",
        "12,345 images through a network, 61.3 seconds",
    ):
        assert words in text
    rows = parsed.texts("tr")
    assert "Accuracy on never-seen records of the classes that stay 90.0 % 89.2 %" in rows
    assert "Calibration error: how far confidence is from being right 0.050 0.062" in rows
    assert "cat 80.0 % 0.0 %" in rows
    assert "record 1 cat 9.25 0.0 % above" in rows and "record 2 cat −7.50 99.5 % below" in rows


def test_a_page_of_networks_can_carry_an_audit(made_up):
    rows = [Row(name=name, scores=Scores(ta=90.0)) for name in ("Original", "Erased")]
    parsed = Parsed(page_of(made_up(), *rows))
    text = parsed.texts("main")[0]
    assert "These figures are not the audit." in text and "This page is not an audit." not in text
    places = [attrs["id"] for attrs, _ in parsed.all("div", class_="chart")]
    charts = json.loads("".join(parsed.texts("script", type="application/json")))
    assert places == [f"chart-{n}" for n in range(len(charts))] == ["chart-0", "chart-1", "chart-2", "chart-3"]
    assert charts[2]["layout"]["xaxis"]["type"] == "log" and "type" not in charts[3]["layout"]["xaxis"]


def test_a_page_without_audit_is_as_it_was(made_up):
    page = page_of(None)
    assert "verdict" not in page and "--pass" not in page and "This page is not an audit." in page
    assert "What the numbers mean" not in page_of(made_up())  # no networks, no figures to explain


def test_reachable_without_eyes_or_mouse(made_up):
    parsed = Parsed(page_of(made_up()))
    levels = [int(tag[1]) for tag, _, _ in parsed.elements if re.fullmatch(r"h[1-4]", tag)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))
    assert len(parsed.all("caption")) == len(parsed.all("table"))
    assert all(attrs.get("scope") in ("row", "col") for attrs, _ in parsed.all("th"))
    assert all("tabindex" in attrs for attrs, _ in parsed.all("div", class_="scroll"))
    labels = {attrs["aria-labelledby"] for attrs, _ in parsed.all("section")}
    assert labels == {attrs["id"] for attrs, _ in parsed.all("h2")}
    assert len(parsed.all("div", role="img")) == 3 and parsed.all("noscript")


def hostile(made_up):
    return made_up(
        reasons=[HOSTILE],
        tests=[
            Test(
                name=f"Neighbour classes, {HOSTILE}", tier=2, n_forget=1, n_control=1, outcome="reported",
                detail={"says": HOSTILE},
            )
        ],
        gates=[Gate(name=HOSTILE, passed=False, says=HOSTILE)],
        harm=made_up().harm | {"accuracy by class": {HOSTILE: {"before": 1.0, "after": 2.0}}},
        worst=[Worst(pseudonym="record 1", label=HOSTILE, phi=1.0, share_above=0.0)],
        not_tested=[HOSTILE],
        skipped=[Skipped(what=HOSTILE, why=HOSTILE)],
        n={HOSTILE: 1},
    )  # fmt: skip


def test_hostile_names_stay_text(made_up):
    page = page_of(hostile(made_up))
    parsed = Parsed(page)
    assert [attrs.get("type") for attrs, _ in parsed.all("script")] == ["application/json", None, None]
    assert not parsed.all("img") and "49" not in parsed.texts("main")[0]
    assert "<script>alert" not in page and "<img" not in page
    plain = " ".join(HOSTILE.split())
    for tag in ("li", "th", "td", "small"):
        assert any(plain in text for text in parsed.texts(tag)), tag
    assert unescape(page).count("alert(") >= 9


def test_what_is_no_number_is_left_out(made_up):
    curves = made_up().curves
    broken = {
        **curves,
        "edges": [NAN, NAN, NAN],
        "shares": {name: [NAN, 1.0] for name in curves["shares"]},
        "found": {when: [NAN, 0.0, 1.0] for when in ("before", "after")},
    }
    worst = [Worst(pseudonym="record 1", label="cat", phi=float("-inf"), share_above=1.0)]
    parsed = Parsed(page_of(made_up(curves=broken, worst=worst)))
    text = "".join(parsed.texts("script", type="application/json"))
    charts = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert charts[2]["data"][1]["y"] == [None, None, 1.0]  # a logarithmic scale has no nought
    assert charts[0]["data"][0]["x"] == [None, None, None]
    assert "record 1 cat – 100.0 % below" in parsed.texts("tr")


def test_charts_by_hand(made_up):
    before, after, roc = audit_charts(made_up())
    assert before.title == "Confidence before erasing" and not before.wide and roc.wide
    never, forgotten = after.data
    assert forgotten["x"] == [-1.0, 0.0, 1.0] and forgotten["y"] == [0.4, 0.6, 0.6]  # the last step is closed
    assert never["fill"] == "tozeroy" and "fill" not in forgotten  # told apart without colour
    assert before.layout["yaxis"]["range"] == after.layout["yaxis"]["range"] == [0, pytest.approx(0.945)]  # 1.05 · .9
    assert [line["name"] for line in roc.data] == ["guessing", "before erasing", "after erasing"]
    assert roc.data[0]["x"] == roc.data[0]["y"] and roc.data[2]["y"] == [None, 0.1, 1.0]
    assert {line["line"]["dash"] for line in roc.data} == {"dot", "dash", "solid"}
    assert roc.layout["xaxis"]["type"] == roc.layout["yaxis"]["type"] == "log"


def test_no_curves_no_charts(made_up):
    found = made_up(curves={})
    assert audit_charts(found) == [] and not Parsed(page_of(found)).all("figure")
