"""The page of results in a real browser: wide and narrow, light and dark, by keyboard, with hostile names."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER, QUIET, needs_browser

from sublimate.bench.results import Results
from sublimate.report.bench.page import write

PATIENCE = 90  # seconds until a browser that says nothing is given up
pytestmark = needs_browser


class Browser:
    """A headless Chromium, spoken to through pipes: commands out, answers and events in."""

    def __init__(self, home: Path) -> None:
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        command = [BROWSER, *QUIET, "--remote-debugging-pipe", f"--user-data-dir={home / 'profile'}"]
        # Chromium reads from 3 and writes to 4.
        line = f"exec {' '.join(map(str, command))} 3<&{theirs_in} 4>&{theirs_out}"
        home_only = {"HOME": str(home), "PATH": os.environ["PATH"]}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", line], pass_fds=(theirs_in, theirs_out), env=home_only, **quiet
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._number, self._session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "the browser says nothing"
            self._rest += os.read(self._in, 1 << 20)
        one, _, self._rest = self._rest.partition(b"\0")
        return json.loads(one)

    def run(self, script: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, page: Path, *, width: int, dark: bool, everything: bool = True) -> None:
        """Show the page; draw `everything`, as a reader does who goes through all of it."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        self.until("document.readyState === 'complete' && typeof watch !== 'undefined'")
        if everything:
            self.run("places.forEach(draw)")
            self.until("[...document.querySelectorAll('.chart')].every((place) => place.querySelector('.main-svg'))")

    def until(self, condition: str) -> None:
        for _ in range(PATIENCE * 10):
            if self.run(condition):
                return
            time.sleep(0.1)
        raise AssertionError(f"never: {condition}")

    def press(self, key: str, code: int) -> None:
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def close(self) -> None:
        os.close(self._out)
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._in)


SOME = ("sub-class/cifar10", "runtime", "ablation/terms", "trajectory/cifar10", "analysis/tsne")
HOSTILE = [
    "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "<svg onload=window.hacked=1>", "<!--",
    "</style><script>window.hacked=1</script>", "</script><script>window.hacked=1</script>", "{{ 7*7 }}", "{% raw %}",
    "' onmouseover='window.hacked=1", '" onfocus="window.hacked=1" autofocus="', "javascript:window.hacked=1", "-->",
    "</table>", "</details>", "<a href='javascript:window.hacked=1'>x</a>", "${window.hacked=1}", "&lt;b&gt;", "<b>",
    "<iframe srcdoc='<script>top.hacked=1</script>'>", "<style>*{display:none}</style>",
]  # fmt: skip
ROWS = "[...document.querySelector('table.sortable').tBodies[0].rows]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("home"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def some(made_results) -> Results:
    """One of every sort, few enough to be drawn quickly."""
    return Results(
        rows=tuple(row for row in made_results.rows if row.experiment in SOME),
        timings=made_results.timings,
        points=tuple(cloud for cloud in made_results.points if cloud.label == "Siamese"),
        experiments={id: made_results.experiments[id] for id in SOME},
    )


@pytest.fixture(scope="module")
def page(some, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(some, path)
    return path


def complaints(browser: Browser) -> list[dict[str, Any]]:
    bad = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening")
    return [event for event in browser.events if event["method"] in bad]


def asked_for(browser: Browser) -> set[str]:
    sent = [
        event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"
    ]
    return {url.partition(":")[0] for url in sent}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_all_is_drawn_and_nothing_is_too_wide(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    assert complaints(browser) == [] and asked_for(browser) == {"file"}
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= width  # with everything open, too
    sizes = browser.run(
        "places.map((place) => { const box = place.querySelector('.main-svg').getBoundingClientRect();"
        " return [box.width, box.height, place.querySelectorAll('.points path, .point path').length, box.right]; })"
    )
    assert len(sizes) == 17  # 6 gaps, 1 cost, 3 times, 3 terms, 1 trajectory, 3 clouds
    assert all(wide > 200 and high > 100 and marks and right <= width for wide, high, marks, right in sizes)
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")


def test_only_what_comes_into_sight_is_drawn(browser, page):
    browser.open(page, width=1400, dark=False, everything=False)
    assert browser.run("places.at(-1).childElementCount") == 0
    browser.run("places.at(-1).scrollIntoView({ behavior: 'instant' })")
    browser.until("places.at(-1).querySelector('.main-svg')")


def test_tables_are_sorted_by_keyboard(browser, page):
    browser.open(page, width=1400, dark=False, everything=False)
    first = browser.run(f"{ROWS}.map((row) => row.cells[0].textContent)")
    browser.run("document.querySelector('.filter input').focus()")
    browser.press("Tab", 9)  # the table, which can be scrolled
    for _ in range(3):
        browser.press("Tab", 9)  # its third heading
    assert browser.run("document.activeElement.textContent") == "Avg gap"
    browser.press("Enter", 13)
    assert browser.run("document.activeElement.parentElement.getAttribute('aria-sort')") == "ascending"
    rising = browser.run(f"{ROWS}.map((row) => row.cells[2].dataset.sort)")
    known = [float(gap) for gap in rising if gap]
    assert known == sorted(known) and len(known) == 11 and rising[-1] == ""  # Retrain has no distance to itself
    browser.press(" ", 32)
    assert browser.run("document.activeElement.parentElement.getAttribute('aria-sort')") == "descending"
    falling = browser.run(f"{ROWS}.map((row) => row.cells[2].dataset.sort)")
    assert [float(gap) for gap in falling if gap] == known[::-1] and falling[-1] == ""
    heads = browser.run(
        "[...document.querySelectorAll('table.sortable thead')][0].querySelectorAll('[aria-sort=none]').length"
    )
    assert heads == browser.run("document.querySelector('table.sortable').tHead.rows[0].cells.length") - 1
    assert sorted(first) == sorted(browser.run(f"{ROWS}.map((row) => row.cells[0].textContent)"))


def test_tables_are_filtered(browser, page):
    browser.open(page, width=390, dark=False, everything=False)
    browser.run("document.querySelector('.filter input').focus()")
    browser.ask("Input.insertText", text="siamese m")
    assert browser.run(f"{ROWS}.filter((row) => !row.hidden).map((row) => row.cells[0].textContent)") == [
        "Siamese matched"
    ]
    assert browser.run("document.querySelector('.filter output').textContent") == "1 of 12"


def test_columns_and_the_sign_of_a_cut_table(browser, page):
    browser.open(page, width=1400, dark=False, everything=False)
    table, scroll = "document.querySelector('table.sortable')", "document.querySelector('.scroll')"
    assert browser.run(f"{scroll}.scrollWidth <= {scroll}.clientWidth")  # a main table fits
    assert browser.run("document.querySelector('.cut').hidden")
    hidden = f"getComputedStyle({table}.querySelector('.further')).display"
    assert browser.run(hidden) == "none"
    browser.run("document.querySelector('.filter button').focus()")
    browser.press("Enter", 13)
    assert browser.run(hidden) == "table-cell"
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    browser.open(page, width=390, dark=False, everything=False)
    assert browser.run(f"{scroll}.scrollWidth > {scroll}.clientWidth && {scroll}.classList.contains('fading')")
    assert not browser.run("document.querySelector('.cut').hidden")
    browser.run(f"{scroll}.scrollLeft = 9999")
    browser.until(f"!{scroll}.classList.contains('fading')")


def test_printed_all_is_drawn_and_what_is_closed_stays_away(browser, page):
    browser.open(page, width=1400, dark=False, everything=False)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.until("places.every((place) => place.querySelector('.main-svg'))")
    browser.run("document.querySelector('.chapter .more details').open = true")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    shown = browser.run("[...document.querySelectorAll('details')].filter((part) => part.offsetHeight).length")
    assert shown == browser.run("document.querySelectorAll('details[open]').length") == 1
    assert browser.run("getComputedStyle(document.querySelector('.scores thead')).display") == "table-header-group"
    assert complaints(browser) == []


def test_hostile_names_run_nothing(browser, some, tmp_path):
    assert len(set(HOSTILE)) == 20
    names = dict.fromkeys(HOSTILE, 50.0)
    labels = dict(zip(dict.fromkeys(row.label for row in some.rows), HOSTILE, strict=False))
    hostile = {
        "classes": names,
        "confusion": dict.fromkeys(HOSTILE, names),
        "options": {name: name for name in HOSTILE},
    }
    hostile |= {"command": HOSTILE[0], "request": HOSTILE[1], "stopped": HOSTILE[2]}
    rows = [row.model_copy(update=hostile | {"label": labels.get(row.label, row.label)}) for row in some.rows]
    write(replace(some, rows=tuple(rows)), tmp_path / "hostile.html")
    browser.open(tmp_path / "hostile.html", width=390, dark=False)
    browser.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert (
        browser.run("window.hacked === undefined")
        and browser.run("document.querySelectorAll('main img, main iframe').length") == 0
    )
    assert complaints(browser) == [] and asked_for(browser) == {"file"}
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run("document.body.textContent.includes('<script>window.hacked=1</script>')")
