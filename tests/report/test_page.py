import base64
import copy
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsed_page import Parsed
from plotly.offline import get_plotlyjs

from sublimate.audits.evaluation import MEANING, Scores
from sublimate.errors import ResourceError
from sublimate.report.page import in_words, render, summary, write_page
from sublimate.report.rows import Row, Story
from sublimate.unlearn.base import Record

HOSTILE = """<script>alert("1")</script><img src=x onerror='y'>{{ 7*7 }}{% raw %}[red]&amp;--></style>"""


def own(page: str) -> str:
    """The page without Plotly's code."""
    return page.replace(get_plotlyjs(), "/* plotly */")


def example() -> Story:
    record = Record(
        method="siamese",
        options={"lr": 1e-4, "views": "simple"},
        choices={"lr": 0.00123456789},
        warnings=["Lost 2.1 points."],
        samples={"forget": 12345},
        losses=[{"ce": 1.0}, {"ce": 0.5}],
        checks=[{"iteration": n, "retained": 90.0, "forgotten": 3.0, "excess": 0.0} for n in (1, 2)],
        stopped="all epochs done",
    )
    return Story(
        title="Three classes",
        request="class:cat,truck",
        data="cifar10",
        model="he-resnet8",
        split="f00dcafe",
        counts={"forget": 10000, "retain": 40000, "test": 10000},
        rows=[
            Row(name="Original", scores=Scores(acc_dr=99.0, acc_df=99.0, ta_dr=90.0, ta_df=91.0, ta=90.2, mia=95.0)),
            Row(name="Retrain", scores=Scores(acc_dr=99.0, acc_df=0.0, ta_dr=91.0, ta_df=0.0, ta=72.8, mia=4.0)),
            Row(
                name="Siamese",
                scores=Scores(acc_dr=98.0, acc_df=0.5, ta_dr=90.5, ta_df=0.0, ta=72.3, mia=1.0),
                seconds=61.25,
                samples=58240,
                record=record,
            ),
            Row(
                name="SCRUB", scores=Scores(acc_dr=98.5, acc_df=6.0, ta_dr=88.0, ta_df=5.0, ta=72.3, mia=9.0), seconds=9
            ),
        ],
        reference="Retrain",
        command="sublimate erase --forget class:cat,truck",
        notes=["A note."],
    )


def hostile() -> Story:
    record = Record(
        method=HOSTILE,
        options={HOSTILE: HOSTILE},
        choices={HOSTILE: HOSTILE},
        warnings=[HOSTILE],
        samples={HOSTILE: 1},
        losses=[{HOSTILE: 1.0}],
        checks=[{"iteration": 1, "retained": 1.0, "forgotten": 1.0}],
        stopped=HOSTILE,
    )
    rows = [
        Row(name=HOSTILE, scores=Scores(ta=1.0), record=record),
        Row(
            name=f"{HOSTILE}2",
            scores=Scores(ta=2.0),
            record=record,
            classes={HOSTILE: 1.0},
            confusion={HOSTILE: {HOSTILE: 100.0}},
        ),
    ]
    return Story(
        title=HOSTILE,
        request=HOSTILE,
        data=HOSTILE,
        model=HOSTILE,
        split=HOSTILE,
        counts={HOSTILE: 1},
        rows=rows,
        reference=f"{HOSTILE}2",
        command=HOSTILE,
        notes=[HOSTILE],
    )


@pytest.fixture(scope="module")
def page() -> str:
    return render(example())


@pytest.fixture(scope="module")
def parsed(page: str) -> Parsed:
    return Parsed(own(page))


def policy(page: str) -> dict[str, list[str]]:
    (meta,) = [attrs for attrs, _ in Parsed(own(page)).all("meta") if "http-equiv" in attrs]
    assert meta["http-equiv"] == "Content-Security-Policy"
    rules = [rule.split() for rule in (meta["content"] or "").split(";")]
    return {name: sources for name, *sources in rules}


def test_policy_names_exactly_the_scripts_of_the_page(page: str) -> None:
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2 and scripts[0] == get_plotlyjs()
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert policy(page)["script-src"] == [f"'sha256-{digest}'" for digest in digests]


def test_policy_allows_nothing_else(page: str) -> None:
    rules = policy(page)
    assert rules["default-src"] == ["'none'"]
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}


@pytest.mark.parametrize("story", [example(), hostile()], ids=["example", "hostile"])
def test_nothing_is_loaded(story: Story) -> None:
    page = own(render(story))
    for tag, attributes, _ in Parsed(page).elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "a", "base", "form")
        assert not {"src", "href", "srcset", "data", "action"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    css = "".join(Parsed(page).texts("style"))
    assert "@import" not in css and "url(" not in css
    assert not re.search(r"https?://", page)


def test_hostile_text_stays_text() -> None:
    parsed = Parsed(own(render(hostile())))
    assert [attrs.get("type") for attrs, _ in parsed.all("script")] == ["application/json", None, None]
    for tag in ("h1", "title", "code", "li"):
        assert HOSTILE in parsed.texts(tag)
    assert parsed.texts("th", scope="row")[0] == HOSTILE
    assert parsed.texts("td").count(HOSTILE) == 2 * 2  # an option and a choice, in both networks
    assert f"It stopped because: {HOSTILE}." in parsed.texts("p")


def test_charts_survive_hostile_names() -> None:
    ((_, text),) = Parsed(own(render(hostile()))).all("script", type="application/json")
    assert "<" not in text
    names = [trace["name"] for chart in json.loads(text) for trace in chart["data"]]
    assert names and not any("<" in name for name in names)


def test_table_by_hand(parsed: Parsed) -> None:
    header, _, _, siamese, scrub = [" ".join(text.split()) for text in parsed.texts("tr")][:5]
    assert header.startswith("Network Acc_Drrecords that stay Acc_Dfforgotten records")
    assert siamese == (
        "Siamese 98.00−1.00 0.50+0.50 (nearest) 90.50−0.50 (nearest) 0.000.00 (nearest) 72.30−0.50 (nearest) "
        "1.00−3.00 (nearest) 61.2 58,240"
    )
    assert scrub == "SCRUB 98.50−0.50 (nearest) 6.00+6.00 88.00−3.00 5.00+5.00 72.30−0.50 (nearest) 9.00+5.00 9.0 –"


def test_one_erased_network_is_not_the_nearest_of_anything() -> None:
    story = example()
    page = own(render(Story(**{**vars(story), "rows": story.rows[:3]})))
    assert "(nearest)" not in page and "nearest to Retrain." not in page


def test_yardsticks_are_set_apart(parsed: Parsed) -> None:
    kinds = [attrs["class"] for attrs, _ in parsed.all("tr") if "class" in attrs]
    assert kinds == ["original", "reference", "erased", "erased"]


percentages = st.none() | st.floats(0, 100)
networks = st.builds(Row, name=st.text(max_size=9), scores=st.builds(Scores, **dict.fromkeys(MEANING, percentages)))


@settings(max_examples=15, deadline=None)
@given(st.lists(networks, max_size=4), st.booleans())
def test_every_figure_of_every_network_is_there(rows: list[Row], compared: bool) -> None:
    reference = rows[0].name if rows and compared else None
    story = Story(title="", request="", data="", model="", split="", counts={}, rows=rows, reference=reference)
    parsed = Parsed(own(render(story)))
    columns = [key for key in MEANING if any(getattr(row.scores, key) is not None for row in rows)]
    values = [getattr(row.scores, key) for row in rows for key in columns]
    cells = parsed.texts("td")
    assert len(cells) == len(values)
    for cell, value in zip(cells, values, strict=True):
        assert cell.startswith("–" if value is None else f"{value:.2f}")


def test_how_a_network_was_made(parsed: Parsed) -> None:
    details = parsed.texts("details")
    assert len(details) == 4
    assert "No record of its making is kept." in details[0]
    for words in ("all epochs done", "Lost 2.1 points.", "0.0001", "simple", "0.00123456789", "12,345", "1 warning"):
        assert words in details[2]


def test_words_of_caution(parsed: Parsed) -> None:
    words = " ".join(parsed.texts("main")[0].split())
    assert "This page is not an audit." in words
    assert "do not prove that the forgotten records cannot be recovered" in words
    assert "0 is not good" in words


def test_facts_notes_and_command(parsed: Parsed) -> None:
    facts = parsed.texts("dd")
    assert facts[:7] == ["class:cat,truck", "cifar10", "he-resnet8", "10,000", "40,000", "10,000", "f00dcafe"]
    assert "A note." in parsed.texts("li")
    assert parsed.texts("pre") == ["sublimate erase --forget class:cat,truck"]


def test_reachable_without_eyes_or_mouse(parsed: Parsed) -> None:
    levels = [int(tag[1]) for tag, _, _ in parsed.elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert parsed.all("html", lang="en") and parsed.texts("title") == ["Three classes"]
    assert len(parsed.all("caption")) == len(parsed.all("table"))
    assert all(attrs.get("scope") in ("row", "col") for attrs, _ in parsed.all("th"))
    pictures = parsed.all("div", role="img")
    assert len(pictures) == 3 and all(attrs["aria-label"] for attrs, _ in pictures)
    assert all("tabindex" in attrs for attrs, _ in parsed.all("div", class_="scroll"))
    labels = {attrs["aria-labelledby"] for attrs, _ in parsed.all("section")}
    assert labels == {attrs["id"] for attrs, _ in parsed.all("h2")}
    assert parsed.all("noscript")


def test_each_chart_has_its_place(parsed: Parsed) -> None:
    ((_, text),) = parsed.all("script", type="application/json")
    places = [attrs["id"] for attrs, _ in parsed.all("div", class_="chart")]
    assert places == [f"chart-{n}" for n in range(len(json.loads(text)))]


def test_empty_story_needs_no_plotly() -> None:
    page = render(Story(title="t", request="id:7", data="d", model="m", split="s", counts={}, rows=[]))
    assert len(page) < 100_000
    assert len(policy(page)["script-src"]) == 1


def test_same_story_same_bytes(page: str) -> None:
    assert render(copy.deepcopy(example())) == page


def test_summary_by_hand() -> None:
    # Siamese is off by 1, .5, .5, 0, .5, 3: 5.5 / 6.
    assert summary(example()) == (
        "The network he-resnet8, trained on cifar10, was to forget all records of the classes cat and truck (10,000 "
        "training records); the erased network nearest to Retrain, Siamese, differs from it by 0.92 points on average "
        "and by 3.00 at most (MIA)."
    )


def test_summary_of_a_single_erased_network_needs_no_name_for_it() -> None:
    story = example()
    rows = [row for row in story.rows if row.name in ("Original", "Retrain", "Siamese")]
    said = summary(Story(**{**vars(story), "rows": rows}))
    assert "; the erased network differs from Retrain by 0.92 points on average and by 3.00 at most (MIA)." in said


def test_summary_claims_nothing_without_a_yardstick() -> None:
    story = example()
    alone = Story(**{**vars(story), "rows": story.rows[2:], "reference": None, "counts": {"forget": 1}})
    assert summary(alone).endswith(
        "(1 training record); no retrained network is given here to measure the result against."
    )
    nothing = Story(**{**vars(story), "rows": story.rows[:2]})
    assert summary(nothing).endswith("; no erased network is compared with Retrain here.")


@pytest.mark.parametrize(
    ("request_text", "words"),
    [
        ("class:cat", "all records of the class cat"),
        ("class:cat@90%", "90 % of the records of the class cat, drawn at random"),
        ("id:7", "the record 7"),
        ("id:7,19,20", "the records 7, 19 and 20"),
        ("ids:no/such/file.txt", "the records listed in no/such/file.txt"),
        ("2000 records", "2000 records"),
    ],
)
def test_requests_in_words(request_text: str, words: str) -> None:
    assert in_words(request_text) == words


def test_page_is_written_as_rendered(tmp_path: Path, page: str) -> None:
    write_page(example(), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == page.encode()


def test_names_that_are_no_text_are_written_too(tmp_path: Path) -> None:
    row = Row(name="net\udcff.pt", scores=Scores(ta=1.0))
    write_page(
        Story(title="t", request="id:7", data="d", model="m", split="s", counts={}, rows=[row]), tmp_path / "page.html"
    )
    assert "net?.pt" in (tmp_path / "page.html").read_text("utf-8")


def test_page_for_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResourceError):
        write_page(example(), tmp_path / "none" / "page.html")
