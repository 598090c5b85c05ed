"""What the scripts that fill docs/results share: run the steps that are left, and write the rows that are done.

A row holds the key of its step, so a published one is not made again, on this machine or on another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sublimate.files import read_bytes, write_whole
from sublimate.plan import Advance, Step, price, result, run
from sublimate.runtime import keep_pages
from sublimate.store import Store

RESULTS = Path(__file__).parents[1] / "docs" / "results"
Row = dict[str, Any]
Wanted = Iterable[tuple[Row, Step]]  # what the rows of a step say of themselves, and the step


def make(name: str, wanted: Wanted) -> None:
    """Run what is not published yet; says what it begins, and what failed."""
    keep_pages()
    there = published(name)
    left = [step for _, step in wanted if step.key not in there]
    for step, error in run(left, Store(), progress=_tell).failed.items():
        print(step, error, file=sys.stderr)


def gathered(name: str, wanted: Wanted, told: Callable[[Any], list[Row]]) -> list[Row]:
    """The rows of all steps that are done, here or in the published table; `told` makes rows of what a step gave."""
    wanted, there, store = list(wanted), published(name), Store()
    ended = {step.key for step in price([step for _, step in wanted if step.key not in there], store)[0]}
    rows = []
    for label, step in wanted:
        if step.key in there:
            rows += there[step.key]
        elif step.key in ended:
            rows += [label | row | {"key": step.key} for row in told(json.loads(result(step, store)))]
    return rows


def published(name: str) -> dict[str, list[Row]]:
    """The rows of the published table, by the key of their step."""
    found: dict[str, list[Row]] = {}
    path = RESULTS / f"{name}.jsonl"
    for line in read_bytes(path).splitlines() if path.exists() else ():
        row = json.loads(line)
        found.setdefault(row["key"], []).append(row)
    return found


def publish(name: str, rows: list[Row], markdown: Callable[[list[Row]], str]) -> None:
    """The rows as JSON lines and as a table."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n" for row in rows)
    write_whole(RESULTS / f"{name}.jsonl", lines.encode())
    write_whole(RESULTS / f"{name}.md", markdown(rows).encode())
    print(markdown(rows))


def _tell(now: Advance) -> None:
    if now.within is None:
        print(f"{now.done}/{now.total} {now.name}", file=sys.stderr, flush=True)
