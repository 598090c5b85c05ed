"""The page in a real browser: charts are drawn, nothing is blocked by its own policy."""

from __future__ import annotations

from browsing import needs_browser, shown

from sublimate.audits.evaluation import Scores
from sublimate.report.page import render
from sublimate.report.rows import Row, Story
from sublimate.unlearn.base import Record


@needs_browser
def test_charts_are_drawn_and_nothing_is_blocked(tmp_path):
    record = Record(
        method="siamese", options={"lr": 1e-3}, losses=[{"ce": 1.0}, {"ce": 0.5}], stopped="all epochs done"
    )
    figures = Scores(acc_dr=99.0, acc_df=1.0, ta=90.0, mia=10.0)
    rows = [Row(name=name, scores=figures) for name in ("Original", "Retrain")]
    rows.append(Row(name="<b>Erased</b>", scores=figures, record=record))
    story = Story(
        title="A page", request="class:3", data="digits", model="small-cnn", split="0123456789abcdef",
        counts={"forget": 3, "retain": 5, "test": 2}, rows=rows, reference="Retrain",
    )  # fmt: skip
    document = shown(render(story), tmp_path)
    assert document.count("main-svg") >= 2
    assert "&lt;b&gt;Erased" in document and "<b>Erased" not in document
