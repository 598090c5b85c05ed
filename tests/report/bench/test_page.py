"""The page of results: read as a browser would, its sentences and tables worked out by hand, names never trusted."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from parsed_page import Parsed
from plotly.offline import get_plotlyjs

from sublimate.bench.experiments import parse
from sublimate.bench.results import Audited, Results, Timing
from sublimate.report.bench.page import render, write
from sublimate.report.bench.rows import labelled
from sublimate.report.classes import confusion

HOSTILE = [
    "<script>hacked()</script>", "<img src=x onerror=hacked()>", "</style><script>hacked()</script>", "{{ 7*7 }}",
    "{% raw %}", "</script><script>hacked()</script>", "<svg onload=hacked()>", "'; hacked(); '", '" onclick="hacked()',
    "javascript:hacked()", "<!-- ", "-->", "]]>", "&lt;script&gt;", "</table>", "</details>",
    "<a href='javascript:x'>y</a>", "${hacked()}", "`hacked()`", "<iframe srcdoc='<script>hacked()</script>'>",
]  # fmt: skip
TINY = """
id = "own/tiny"
title = "A small comparison"
source = "Table 9"
note = "Reported figures are no goal."
measures = ["acc_dr", "mia"]
contaminated.full-class = "it saw D_f."
[[settings]]
scenario = "full-class"
cpu = {{ data = "cifar10", request = "class:cat", model = "he-resnet8", recipe = "fast", views = "simple", few = 9 }}
[[methods]]
name = "retrain"
label = "Retrain"
[[methods]]
name = "siamese"
label = {near}
reported.full-class = {{ acc_dr = 91.5 }}
[[methods]]
name = "scrub"
label = "SCRUB"
"""


def own(page: str) -> str:
    """The page without Plotly's code."""
    return page.replace(get_plotlyjs(), "/* plotly */")


def tiny(made: Results, near: str = "Near", **more: object) -> Results:
    """Two seeds, one method near Retrain and one far from it, all figures chosen."""
    experiment = parse(TINY.format(near=json.dumps(near)), place="here")
    kept = next(row for row in made.rows if row.label == "Siamese")
    chosen = {
        "Retrain": ("retrain", None, (90.0, 10.0)),
        near: ("siamese", 1.0, (91.0, 9.0)),
        "SCRUB": ("scrub", 4.0, (86.0, 6.0)),
    }
    rows = []
    for seed in (0, 1):
        for label, (method, gap, (acc_dr, mia)) in chosen.items():
            verdict = (
                None
                if gap is None
                else Audited(verdict="PASS" if gap == 1.0 and seed else "FAIL", tier=1, reasons=("Because.",))
            )
            rows.append(
                kept.model_copy(
                    update={
                        "experiment": "own/tiny", "request": "class:cat", "label": label, "method": method,
                        "figures": {"acc_dr": acc_dr, "mia": mia, "samples": 1200}, "average_gap": gap,
                        "seed": seed, "audit": verdict,
                        "gap": None if gap is None else {"acc_dr": acc_dr - 90, "mia": mia - 10}, "tow": None,
                        "classes": {"cat": 10.0 + seed, "dog": 90.0}, "options": {"lr": 0.125}, "failed": None,
                        "confusion": {"cat": {"dog": 60.0 - 20 * seed, "fox": 5.0, "owl": 7.0, "ant": 1.0}},
                        "command": f"sublimate erase --method {method} --seed {seed}",
                    } | more
                )
            )  # fmt: skip
    timings = [
        Timing(experiment="own/tiny", edition="cpu", scenario="full-class", data="cifar10", views="simple",
               model="he-resnet8", label=label, seed=0, seconds=seconds, threads=2, host="h", at="t")
        for label, seconds in (("Retrain", 100.0), (near, 20.0), ("SCRUB", 50.0))
    ]  # fmt: skip
    return Results(rows=tuple(rows), timings=tuple(timings), experiments={"own/tiny": experiment})


@pytest.fixture(scope="module")
def page(made_results) -> str:
    return render(made_results)


@pytest.fixture(scope="module")
def parsed(page) -> Parsed:
    return Parsed(own(page))


def policy(page: str) -> dict[str, list[str]]:
    (meta,) = [attrs for attrs, _ in Parsed(own(page)).all("meta") if "http-equiv" in attrs]
    return {name: sources for name, *sources in (rule.split() for rule in meta["content"].split(";"))}


def rows_parts(results: Results) -> list[dict | None]:
    return [confusion(labelled(r for r in results.rows if r.experiment == one)) for one in results.experiments]


def test_policy_names_exactly_the_scripts_of_the_page(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2 and scripts[0] == get_plotlyjs()
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    rules = policy(page)
    assert rules["script-src"] == [f"'sha256-{digest}'" for digest in digests] and rules["default-src"] == ["'none'"]
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}


def test_nothing_is_loaded_and_every_link_leads_into_the_page(page, parsed):
    places = {attrs["id"] for _, attrs, _ in parsed.elements if "id" in attrs}
    for tag, attributes, _ in parsed.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "data", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        assert "href" not in attributes or attributes["href"].removeprefix("#") in places
    css = "".join(parsed.texts("style"))
    assert "@import" not in css and "url(" not in css and not re.search(r"https?://", own(page))


def test_reachable_without_eyes_or_mouse(parsed):
    levels = [int(tag[1]) for tag, _, _ in parsed.elements if re.fullmatch(r"h[1-5]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1 and all(after <= before + 1 for before, after in pairwise(levels))
    assert len(parsed.all("caption")) == len(parsed.all("table"))
    assert all(attrs.get("scope") in ("row", "col") for attrs, _ in parsed.all("th"))
    assert all("tabindex" in attrs and attrs["aria-label"] for attrs, _ in parsed.all("div", class_="scroll"))
    labels = {attrs["aria-labelledby"] for attrs, _ in parsed.all("section")}
    assert labels == {attrs["id"] for attrs, _ in parsed.all("h2")}
    ids = [attrs["id"] for _, attrs, _ in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids)) and parsed.all("noscript")


def test_each_chart_has_its_place_and_says_what_it_shows(parsed):
    charts = json.loads("".join(parsed.texts("script", type="application/json")), parse_constant=pytest.fail)
    places = [int(attrs["data-chart"]) for attrs, _ in parsed.all("div", class_="chart")]
    assert sorted(places) == list(range(len(charts))) and len(charts) > 50
    assert all(attrs["aria-label"] for attrs, _ in parsed.all("div", role="img"))


def test_overview_by_hand(made_results):
    parsed = Parsed(own(render(tiny(made_results))))
    # Near: 1 point in both seeds; 20 s against 100 s.  The audit fails it in seed 0 and passes it in seed 1.
    assert parsed.texts("p", class_="lead") == [
        "Of 2 approaches in one setting, Near comes nearest to Retrain. No method passes the audit in every run."
    ]
    assert parsed.texts("p", class_="nearest") == ["nearest to RetrainNear"]
    assert parsed.texts("dd")[:3] == [
        "1.00 ± 0.00 points, 2 seeds", "✓ PASS 1 of 2 ✕ FAIL 1 of 2",
        "20 s, 5 times as fast as Retrain, 1,200 images read",
    ]  # fmt: skip
    assert parsed.texts("p", class_="story") == [
        "Of 2 approaches that ran through, SCRUB follows with 4.00 ± 0.00 points. "
        "No method passes the audit in every run."
    ]
    assert parsed.texts("p", class_="note") == [
        "Reported figures are no goal.", "§ Reported reference contaminated: it saw D_f.",
    ]  # fmt: skip
    assert parsed.texts("p", class_="origin") == ["own/tiny · in the paper: Table 9"]


def test_a_single_setting_in_words(made_results):
    results = tiny(made_results)
    passed = Audited(verdict="PASS", tier=1)
    alone = tuple(r.model_copy(update={"audit": passed}) for r in results.rows if r.method != "scrub")
    assert Parsed(own(render(replace(results, rows=alone)))).texts("p", class_="lead") == [
        "One method in one setting: Near comes within 1.00 ± 0.00 points of Retrain. "
        "Near passes the audit in every run."
    ]


def test_several_settings_in_words(made_results):
    several, who = "Of 5 settings that compare methods, ", "Siamese matched comes nearest to Retrain in 5. "
    passed = "In 5 of 5 settings at least one method passes the audit in every run."
    failed = (
        "In none of 5 settings does a method pass the audit in every run. "
        "There not even Retrain does, and INCONCLUSIVE says nothing about a method."
    )
    for verdict, said in (("PASS", passed), ("FAIL", failed)):
        judged = Audited(verdict=verdict, tier=1)
        rows = tuple(row.model_copy(update={"audit": judged}) for row in made_results.rows)
        assert Parsed(own(render(replace(made_results, rows=rows)))).texts("p", class_="lead") == [several + who + said]


def test_where_retrain_does_not_pass_nobody_is_blamed(made_results):
    results = tiny(made_results)
    why = "Nothing measurable to erase. The rest is left out."
    blind = ("Harm: accuracy fell by 5.2 points.", why, "Too few records.")
    judged = Audited(verdict="INCONCLUSIVE", tier=1, reasons=blind)
    rows = tuple(row.model_copy(update={"audit": judged, "choices": {"alpha": 6}}) for row in results.rows)
    parsed = Parsed(own(render(replace(results, rows=rows))))
    said = (
        "Not even Retrain passes the audit here, so INCONCLUSIVE says nothing about a method. "
        "Nothing measurable to erase."
    )
    for place in ("lead", "story", "hint"):
        assert sum(text.endswith(said) for text in parsed.texts("p", class_=place)) == 1
    assert "Accuracy fell by 5.2 points." in parsed.texts("dd")
    assert "alpha (found on the way)6" in parsed.texts("details")[-1]


def test_test_records_that_served_for_choosing_are_told(made_results):
    def said(results):
        return {text for text in Parsed(own(render(results))).texts("p", class_="hint") if "for choosing" in text}

    of = ": on all test records, of which 2,000 served for choosing (rates, when to stop)."
    some = replace(made_results, rows=tuple(row for row in made_results.rows if row.experiment == "random/cifar10"))
    assert said(some) == {f"TA{of}"}
    curves = replace(made_results, rows=tuple(row for row in made_results.rows if row.kind == "curve"))
    assert said(curves) == set()
    assert "All figures are on at most 2,000 records of each part." in own(render(curves))
    apart = tuple(row.model_copy(update={"n": row.n | {"control": row.n["test"]}}) for row in some.rows)
    assert said(replace(some, rows=apart)) == set()


def test_yardsticks_are_no_methods(made_results):
    (size,) = Parsed(own(render(tiny(made_results)))).texts("p", class_="size")
    assert size.startswith("1 experiment, 2 methods, up to 2 seeds")


def test_the_first_link_leads_somewhere_in_every_page(made_results):
    for results in (made_results, Results(rows=())):
        parsed = Parsed(own(render(results)))
        (attrs, _), *_ = parsed.all("a", class_="skip")
        assert attrs["href"].removeprefix("#") in {found["id"] for found, _ in parsed.all("main")}


def test_values_are_short(made_results):
    results = tiny(made_results, options={"lr": 16 / 15, "epochs": 3, "milestones": [1 / 3]})
    details = Parsed(own(render(results))).texts("details")[-1]
    assert "lr1.06667" in details and "epochs3" in details and "1.0666666" not in details and "0.333333" in details


def test_table_by_hand(made_results):
    rows = Parsed(own(render(tiny(made_results)))).texts("tr")
    assert rows[0] == "Approach Audit Avg gap Acc_Dr MIA Seconds RTE Images read"
    assert rows[1].startswith("Retrain – – 90.00 ± 0.00 10.00 ± 0.00 100.0")
    assert rows[2] == (
        "Near ✓ PASS 1 of 2 ✕ FAIL 1 of 2 1.00 ± 0.00 (nearest) "
        "91.00 ± 0.00+1.00 ± 0.00paper 91.50§ (nearest) 9.00 ± 0.00−1.00 ± 0.00 (nearest) 20.0 5.0 1,200"
    )


def test_cells_carry_what_they_are_sorted_by(made_results):
    parsed = Parsed(own(render(tiny(made_results))))
    sorts = [attrs["data-sort"] for attrs, _ in parsed.all("td") if "data-sort" in attrs][:21]
    assert sorts[7:14] == ["PASS FAIL 1 PASS, 1 FAIL", "1.00", "91.00", "9.00", "20.0", "5.0", "1200"]
    assert sorts[0] == sorts[1] == ""  # what is missing


def test_classes_and_confusion_by_hand(made_results):
    parsed = Parsed(own(render(tiny(made_results))))
    classes, confusion = (details for details in parsed.texts("details") if details.startswith(("Accuracy", "What")))
    assert "cat (forgotten) 10.5 10.5 10.5 dog 90.0 90.0 90.0" in classes  # (10 + 11) / 2
    assert (
        "Near dog: 50 %, owl: 7 %, fox: 5 %" in confusion and "ant" not in confusion
    )  # (60 + 40) / 2; the first three


def test_a_cause_ends_in_one_full_stop(made_results):
    for cause in ("it collapsed", "It collapsed."):
        page = own(render(tiny(made_results, failed=cause)))
        assert f"Failed: {cause.rstrip('.')}. The figures are" in page


def test_commands_and_values_of_every_row(made_results):
    results = tiny(made_results, failed="it collapsed")
    details = Parsed(own(render(results))).texts("details")[-1]  # SCRUB
    for words in ("SCRUB", "failed in 2 of 2", "lr0.125", "Failed: it collapsed.", "Audit, tier 1: FAIL. Because."):
        assert words in details
    commands = Parsed(own(render(results))).texts("pre")
    assert commands == [
        f"sublimate erase --method {m} --seed {s}" for m in ("retrain", "siamese", "scrub") for s in (0, 1)
    ]


def test_an_answer_that_a_seed_never_gave_counts_nought_there(made_results):
    results = tiny(made_results)
    rows = list(results.rows)
    at = next(n for n, row in enumerate(rows) if (row.label, row.seed) == ("SCRUB", 1))
    rows[at] = rows[at].model_copy(update={"confusion": {"cat": {"dog": 100.0}}})
    (confused,) = [part for part in rows_parts(replace(results, rows=tuple(rows))) if part]
    taken = dict(dict(confused["lines"])["SCRUB"][0])
    assert taken == {"dog": 80.0, "owl": 3.5, "fox": 2.5}  # (60 + 100) / 2, (7 + 0) / 2, (5 + 0) / 2


def test_values_that_differ_from_seed_to_seed_stand_under_each(made_results):
    results = tiny(made_results)
    rows = tuple(
        row.model_copy(
            update={"options": {"lr": 0.5 / (row.seed + 1), "epochs": 3} | ({"alpha": 10} if row.seed else {})}
        )
        for row in results.rows
    )
    details = Parsed(own(render(replace(results, rows=rows)))).texts("details")[-1]
    assert "epochs3" in details and "lr0" not in details and "alpha10" not in details
    assert "With this seed: lr 0.5." in details and "With this seed: lr 0.25, alpha 10." in details


def test_meanings_are_told(parsed):
    text = parsed.texts("main")[0]
    assert "An MIA of 0 is not a success" in text and "low is good" in text and "high is good" in text
    assert {"Acc_Dr", "MIA", "AUC", "ToW", "RTE", "Audit", "KL D_f"} <= set(parsed.texts("dt"))


def test_smoke_says_that_titles_of_the_paper_are_the_papers(made_results):
    def said(edition: str, source: str) -> tuple[bool, bool]:
        results = tiny(made_results, edition=edition)
        (experiment,) = results.experiments.values()
        mine = experiment.model_copy(update={"source": source})
        page = own(render(replace(results, experiments={mine.id: mine})))
        return "The titles of experiments in the paper are the paper’s" in page, "says little about the" in page

    assert (said("cpu", "Table 9"), said("smoke", "Table 9"), said("smoke", "")) == (
        (False, False),
        (True, True),
        (False, True),
    )


def test_hostile_names_stay_text(made_results):
    names = dict.fromkeys(HOSTILE, 50.0)
    assert len(names) == 20
    results = tiny(
        made_results, classes=names, confusion=dict.fromkeys(HOSTILE, names), options={n: n for n in HOSTILE}
    )
    near = [row for row in results.rows if row.label == "Near"]
    rows = [
        row.model_copy(update={"label": n, "command": n, "stopped": n, "request": n}) for n in HOSTILE for row in near
    ]
    page = own(render(replace(results, rows=(*results.rows, *rows))))
    parsed = Parsed(page)
    assert [attrs.get("type") for attrs, _ in parsed.all("script")] == ["application/json", None, None]
    assert not parsed.all("img", "svg", "iframe")
    assert not any(key.startswith("on") for _, attrs, _ in parsed.elements for key in attrs)
    assert all(attrs["href"].startswith("#") for attrs, _ in parsed.all("a"))
    heads, cells, commands = parsed.texts("th"), parsed.texts("td"), parsed.texts("pre")
    for name in (" ".join(name.split()) for name in HOSTILE):
        assert any(name in text for text in heads) and name in cells and name in commands
    assert "<" not in "".join(parsed.texts("script", type="application/json"))


def test_no_results_need_no_plotly():
    page = render(Results(rows=()))
    assert len(page) < 100_000 and len(policy(page)["script-src"]) == 1
    assert "No setting here compares methods with Retrain." in page


def test_results_without_retrain_claim_nothing(made_results):
    results = tiny(made_results, gap=None, average_gap=None)
    rows = tuple(row for row in results.rows if row.method != "retrain")
    parsed = Parsed(own(render(replace(results, rows=rows))))
    assert not parsed.all("article") and "(nearest)" not in parsed.texts("main")[0]


def test_same_results_same_bytes(made_results, page, tmp_path):
    write(made_results, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == page.encode()
