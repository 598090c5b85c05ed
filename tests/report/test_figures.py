import json
import math

import plotly.graph_objects as go
import pytest

from sublimate.audits.evaluation import Scores
from sublimate.report.figures import COLOURS, MOST_POINTS, NEUTRAL, Chart, charts
from sublimate.report.rows import Row, Story
from sublimate.unlearn.base import Record

CHECKS = [
    {"iteration": 10, "retained": 90.0, "forgotten": 50.0, "excess": 1.0},
    {"iteration": 20, "retained": 91.0, "forgotten": 5.0, "excess": -1.0},
]
ORIGINAL = Row(name="Original", scores=Scores(acc_df=99.0, ta=90.0))
RETRAIN = Row(name="Retrain", scores=Scores(acc_df=80.0, ta=88.0))


def erased(losses: list[dict[str, float]], checks: list[dict[str, float]] = CHECKS, name: str = "Siamese") -> Row:
    record = Record(method="siamese", options={}, losses=losses, checks=checks)
    return Row(name=name, scores=Scores(acc_df=75.0, ta=88.5), record=record)


def drawn(*rows: Row, reference: str | None = "Retrain") -> list[Chart]:
    return charts(
        Story(title="t", request="r", data="d", model="m", split="s", counts={}, rows=rows, reference=reference)
    )


def test_plotly_knows_every_word() -> None:
    made = drawn(ORIGINAL, RETRAIN, erased([{"a": 1.0, "b": 2.0}]))
    assert [chart.title for chart in made] == [
        "The figures of each network",
        "Accuracy while erasing",
        "Losses: Siamese",
    ]
    for chart in made:
        go.Figure(data=chart.data, layout=chart.layout)  # raises on an unknown or ill-typed property


def test_stems_lead_to_the_reference() -> None:
    comparison = drawn(ORIGINAL, RETRAIN, erased([]))[0]
    bar, *dots = comparison.data
    assert bar["name"] == "Retrain"
    assert bar["x"] == [80.0, 80.0, None, 88.0, 88.0, None]
    for trace in dots:
        stems = trace["error_x"]
        ends = [x + up - down for x, up, down in zip(trace["x"], stems["array"], stems["arrayminus"], strict=True)]
        assert ends == [80.0, 88.0]
    assert [trace["text"][0] for trace in dots] == [
        "Original<br>Acc_Df 99.00 % (+19.00)",
        "Siamese<br>Acc_Df 75.00 % (-5.00)",
    ]


def test_marks_of_one_figure_stay_in_its_lane() -> None:
    rows = [erased([], name=str(n)) for n in range(20)]
    heights = [trace["y"] for trace in drawn(RETRAIN, *rows)[0].data[1:]]
    assert heights == sorted(heights)
    assert all(abs(y - place) < 0.5 for pair in heights for place, y in enumerate(pair))


def test_accuracies_over_iterations() -> None:
    progress = drawn(ORIGINAL, RETRAIN, erased([]), erased([], checks=[], name="SCRUB"))[1]
    assert [(trace["name"], trace["x"], trace["y"]) for trace in progress.data] == [
        ("Siamese, kept", [10, 20], [90.0, 91.0]),
        ("Siamese, forgotten", [10, 20], [50.0, 5.0]),
    ]


def test_losses_as_measured_with_holes_where_a_phase_has_another_loss() -> None:
    losses = drawn(erased([{"a": 1.0}, {"a": 2.0, "b": 3.0}], checks=[]), reference=None)[-1]
    assert [(trace["name"], trace["x"], trace["y"]) for trace in losses.data] == [
        ("a", [1, 2], [1.0, 2.0]),
        ("b", [1, 2], [None, 3.0]),
    ]
    assert not losses.wide and losses.words == "Over 2 iterations: a, b."


def test_long_runs_are_thinned_to_means() -> None:
    n = 2 * MOST_POINTS + 1  # spans of three; the last holds two
    (trace,) = drawn(erased([{"a": float(t)} for t in range(n)], checks=[]), reference=None)[-1].data
    assert len(trace["x"]) <= MOST_POINTS
    assert trace["x"][:2] == [3, 6] and trace["y"][:2] == [1.0, 4.0]
    assert trace["x"][-1] == n and trace["y"][-1] == n - 1.5


def test_yardsticks_have_no_run_to_show() -> None:
    record = Record(method="retrain", options={}, losses=[{"ce": 1.0}], checks=CHECKS)
    made = drawn(ORIGINAL, Row(name="Retrain", scores=RETRAIN.scores, record=record))
    assert [chart.title for chart in made] == ["The figures of each network"]


def test_no_rows_no_charts() -> None:
    assert drawn(reference=None) == []
    assert drawn(Row(name="a", scores=Scores()), reference=None) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_json_without_infinities(bad: float) -> None:
    row = erased([{"a": bad}], checks=[{"iteration": 1, "retained": bad, "forgotten": 1.0}])
    for chart in drawn(RETRAIN, row):
        json.dumps([chart.data, chart.layout], allow_nan=False)


def test_tags_in_names_are_no_tags() -> None:
    comparison = drawn(Row(name="<b>&x", scores=Scores(ta=1.0)), reference=None)[0]
    assert comparison.data[0]["name"] == "&lt;b&gt;&amp;x"
    assert comparison.data[0]["text"][0].startswith("&lt;b&gt;&amp;x<br>TA ")


@pytest.mark.parametrize("colour", [NEUTRAL, *COLOURS])
@pytest.mark.parametrize("page", ["#ffffff", "#14171b"])
def test_colours_stand_out_in_light_and_dark(colour: str, page: str) -> None:
    darker, lighter = sorted(map(luminance, (colour, page)))
    assert (lighter + 0.05) / (darker + 0.05) >= 3  # what WCAG 2 asks of graphics


def luminance(colour: str) -> float:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
