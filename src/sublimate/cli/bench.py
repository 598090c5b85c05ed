"""`sublimate bench`: declared experiments, run, continued and rendered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .common import RUN, Device, Json, Quiet, check_cache, signals, start
from .ui import Ui

if TYPE_CHECKING:
    from ..bench.kinds import EditionName
    from ..bench.planning import Planned
    from ..bench.running import Finished
    from ..bench.schema import Experiment

EXAMPLE = "sublimate bench full-class/cifar10 --edition cpu --seeds 3 --only original,retrain,siamese"


def run(
    experiment: Annotated[
        str | None, typer.Argument(help="An id, the first part of one, all, or a TOML file of your own.")
    ] = None,
    edition: Annotated[
        str, typer.Option("--edition", help="smoke (minutes), cpu (hours), paper (the paper's own settings).")
    ] = "smoke",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Networks trained for each setting.")] = 3,
    only: Annotated[str, typer.Option("--only", help="Methods, or labels of lines, with commas between.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Folder of results; by default results/EDITION.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Every experiment, and stop.")] = False,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="ADDRESS", help="A Ray cluster, or local: Ray on this machine.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first of the seeds.", rich_help_panel=RUN)] = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Of every step.", rich_help_panel=RUN)] = 1,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run experiments and render them; stopped or killed, the same command continues."""
    if list_:
        _list(Ui(json=json, quiet=quiet))
        return
    if experiment is None:
        raise UsageError("No experiment is named.", "Give an id (--list shows them), all, or a TOML file.")
    from ..bench.experiments import find
    from ..bench.planning import named, plan
    from ..bench.running import left

    wanted, chosen = find(experiment), _edition(edition)
    methods = named(only, wanted)
    ui = _start(device, threads, json, quiet, elsewhere=cluster not in (None, "local"))
    folder = out or Path("results") / chosen
    planned = left(plan(wanted, chosen, seeds, methods, threads, seed), folder)
    if dry_run:
        _price(ui, planned, chosen)
        return
    asked = {"edition": chosen, "seeds": seeds, "only": methods, "threads": threads, "first": seed}
    _run(ui, wanted, planned, cluster, folder, asked)


def _start(device: str, threads: int, json: bool, quiet: bool, elsewhere: bool) -> Ui:
    from ..bench.packing import DEVICE
    from ..runtime import check_threads

    check_threads(threads)
    theirs = elsewhere and device == "cuda"  # workers may have what this machine lacks
    ui, found = start(None, "cpu" if theirs else device, json, quiet)
    if device != "auto":  # else each step looks for itself: on a cluster it may find a GPU
        DEVICE.set("cuda" if theirs else found)
    return ui


def _list(ui: Ui) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from ..bench.experiments import listed
    from ..bench.kinds import EDITIONS

    table = Table("id", "what", "in the paper", box=SIMPLE_HEAD)
    table.columns[0].no_wrap, table.columns[0].min_width = True, max(len(e.id) for e in listed())
    told = [
        {"id": e.id, "title": e.title, "source": e.source, "editions": [n for n in EDITIONS if any(e.pairs(n))]}
        for e in listed()
    ]
    for one in told:
        table.add_row(*(escape(str(one[name])) for name in ("id", "title", "source")))
    ui.say(table)
    ui.result({"experiments": told})


def _edition(name: str) -> EditionName:
    from ..bench.kinds import EDITIONS
    from ..errors import unknown

    for known in EDITIONS:
        if known == name:
            return known
    raise unknown(UsageError, "edition", [name], EDITIONS)


def _price(ui: Ui, planned: list[Planned], edition: EditionName) -> None:
    from ..bench.pricing import costs, priced
    from ..bench.running import steps_of
    from ..store import Store
    from .benching import duration, several

    found = priced(steps_of(planned), Store(), costs(planned))
    rows, todo = several(len(planned), "row"), several(found.todo, "step")
    ui.say(f"{rows} to make, edition {edition}: {todo} to do, {found.done} done.")
    ui.say(f"At most {found.images:,} images pass through a network: about {duration(found.seconds)} on one core here.")
    told = {"rows": len(planned), "done": found.done, "todo": found.todo, "images": found.images}
    ui.result(told | {"minutes": round(found.seconds / 60, 1)})


def _run(
    ui: Ui,
    wanted: list[Experiment],
    planned: list[Planned],
    cluster: str | None,
    folder: Path,
    asked: dict[str, Any],
) -> None:
    from ..bench.running import bench
    from .benching import render, shown

    check_cache()
    workers = {None: "local", "local": "local-ray"}.get(cluster, cluster) or "local"
    with signals() as interrupted, shown(ui, planned) as progress:
        finished = bench(wanted, folder=folder, workers=workers, progress=progress, interrupted=interrupted, **asked)
    results, written = render(ui, {one.id for one in wanted}, folder)
    ui.say(f"Rows, tables and figures: {folder}")
    failed = {name: str(error) for name, error in finished.failed.items()}
    ui.result({"out": str(folder), "rows": len(results.rows), "written": written, "failed": failed})
    _complain(ui, finished)


def _complain(ui: Ui, finished: Finished) -> None:
    from .benching import several

    for error in finished.failed.values():
        ui.warn(str(error))
    if finished.skipped:
        were = "was" if len(finished.skipped) == 1 else "were"
        ui.warn(f"{several(len(finished.skipped), 'step')} needed one of these, and {were} left out.")
    for error in finished.failed.values():
        raise typer.Exit(error.exit_code)
