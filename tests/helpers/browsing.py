"""A real browser, where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


def shown(page: str, home: Path) -> str:
    """The document after its scripts have run; nothing may be blocked by its own policy or complain."""
    file = home / "page.html"
    file.write_text(page, encoding="utf-8")
    flags = (*QUIET, "--enable-logging=stderr", "--virtual-time-budget=8000", f"--user-data-dir={home / 'profile'}")
    own = {"HOME": str(home), "PATH": os.environ["PATH"]}
    command = [str(BROWSER), *flags, "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=own)
    assert "Content Security Policy" not in done.stderr and "CONSOLE" not in done.stderr, done.stderr[-2000:]
    return done.stdout
