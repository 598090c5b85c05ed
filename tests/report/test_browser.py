"""The page in a real browser: charts are drawn, nothing is blocked by its own policy."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from sublimate.audits.evaluation import Scores
from sublimate.report.page import render
from sublimate.report.rows import Row, Story
from sublimate.unlearn.base import Record

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"),
    "--virtual-time-budget=8000",
]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
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
    page = tmp_path / "page.html"
    page.write_text(render(story), encoding="utf-8")
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=home)
    assert done.stdout.count("main-svg") >= 2, done.stderr[-2000:]
    assert "&lt;b&gt;Erased" in done.stdout and "<b>Erased" not in done.stdout
    assert "Content Security Policy" not in done.stderr and "CONSOLE" not in done.stderr
