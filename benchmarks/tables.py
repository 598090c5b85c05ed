"""What the scripts that fill docs/results share: run the steps that are left, and write the rows that are done."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sublimate.files import write_whole
from sublimate.plan import Advance, Step, price, result, run
from sublimate.runtime import keep_pages
from sublimate.store import Store

RESULTS = Path(__file__).parents[1] / "docs" / "results"
Row = dict[str, Any]


def make(steps: Iterable[Step]) -> None:
    """Run what is not done yet; says what it begins, and what failed."""
    keep_pages()
    for name, error in run(steps, Store(), progress=_tell).failed.items():
        print(name, error, file=sys.stderr)


def done(wanted: Iterable[tuple[Row, Step]]) -> list[tuple[Row, Any]]:
    """Each label with what its step gave, of those that are done."""
    wanted, store = list(wanted), Store()
    ended = {step.key for step in price([step for _, step in wanted], store)[0]}
    return [(label, json.loads(result(step, store))) for label, step in wanted if step.key in ended]


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
