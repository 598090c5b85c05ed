"""The audit in a real browser: its charts are drawn, nothing is blocked by the policy of the page."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from sublimate.report.page import render
from sublimate.report.rows import Story

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"),
    *("--virtual-time-budget=8000", "--window-size=800,900"),
]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_charts_of_an_audit_are_drawn_and_nothing_is_blocked(made_up, tmp_path):
    story = Story(
        title="An audit", request="class:cat", data="cifar10", model="he-resnet8", split="f00dcafe",
        counts={"forget": 400}, rows=[], audit=made_up(),
    )  # fmt: skip
    page = tmp_path / "page.html"
    page.write_text(render(story), encoding="utf-8")
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=home)
    assert done.stdout.count('class="main-svg"') >= 3, done.stderr[-2000:]
    assert "Content Security Policy" not in done.stderr and "CONSOLE" not in done.stderr
