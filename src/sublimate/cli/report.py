"""`sublimate report`: one page about a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Device, Json, Quiet, Seed, Threads
from .ui import Ui

EXAMPLE = "sublimate report results/smoke --out report.html"


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `sublimate bench` has written.")],
    out: Annotated[Path, typer.Option("--out", help="The page (HTML), which needs nothing beside it.")] = Path(
        "report.html"
    ),
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one self-contained page: which method, how near to Retrain, what verdict, at what cost."""
    from ..bench.results import EXPERIMENTS, POINTS, ROWS, TIMINGS, read
    from ..files import check_outputs, sha256
    from ..report.bench.page import write

    del seed, threads, device  # every command takes them, and nothing is random or computed here
    ui = Ui(json=json, quiet=quiet)
    check_outputs((out,), (folder / name for name in (ROWS, TIMINGS, POINTS, EXPERIMENTS)))
    write(read(folder), out)
    ui.say(f"Written: {out}")
    ui.result({"out": str(out), "sha256": sha256(out)})
