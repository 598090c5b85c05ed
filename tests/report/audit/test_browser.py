"""The audit in a real browser: its charts are drawn, nothing is blocked by the policy of the page."""

from __future__ import annotations

from browsing import needs_browser, shown

from sublimate.report.page import render
from sublimate.report.rows import Story


@needs_browser
def test_the_charts_of_an_audit_are_drawn_and_nothing_is_blocked(made_up, tmp_path):
    story = Story(
        title="An audit", request="class:cat", data="cifar10", model="he-resnet8", split="f00dcafe",
        counts={"forget": 400}, rows=[], audit=made_up(),
    )  # fmt: skip
    assert shown(render(story), tmp_path).count('class="main-svg"') >= 3
