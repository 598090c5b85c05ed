"""`sublimate train`: an original, or (with --forget) the Retrain that never saw those records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import DataName, Device, Forget, Json, Quiet, Seed, Size, Threads, run_key, signals, start

EXAMPLE = "sublimate train --data digits --model small-cnn --out original.safetensors"


def run(
    data: DataName,
    model: Annotated[str, typer.Option("--model", help="Built-in name or module:function.")],
    out: Annotated[Path, typer.Option("--out", help="Where the network is written (safetensors).")],
    forget: Forget = None,
    recipe: Annotated[str, typer.Option("--recipe", help="fast or paper.")] = "fast",
    views: Annotated[str, typer.Option("--views", help="simple, contrastive or cutout.")] = "simple",
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="In place of the recipe's.")] = None,
    size: Size = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a network; with --forget, without exactly those records: Retrain, the reference of all unlearning."""
    ui, device = start(threads, device, json, quiet)
    from ..audits.evaluation import whole_test_accuracy
    from ..checkpoint import save_checkpoint
    from ..data.sources import load
    from ..files import check_writable, remove_stale, sha256
    from ..networks import describe, factory
    from ..splits import Part, split
    from ..store import Store
    from ..training import find_recipe, fit

    check_writable(out)
    remove_stale(out)
    chosen, table = find_recipe(recipe, epochs=epochs, views=views), load(data, size=size)
    build = factory(model, table)
    request = split(table, forget, seed=seed) if forget else None
    rows = request.retain if request else table.train
    fingerprint = request.fingerprint if request else None
    ui.say(f"Training {model} on {len(rows)} records of {table.name}" + (f", without {forget}." if forget else "."))
    slot = Store().slot(
        run_key(
            train=model, data=table.fingerprint, split=fingerprint, recipe=chosen.describe(), seed=seed, device=device
        )
    )
    with signals() as interrupted, ui.steps(table.name) as progress:
        network, loop = fit(
            build, Part(table, rows, "train"), chosen, seed=seed, device=device,
            progress=progress, saver=slot, interrupted=interrupted,
        )  # fmt: skip
    meta = describe(model, table, recipe=chosen.describe() | {"seed": seed}, split=fingerprint)
    save_checkpoint(out, network.cpu().state_dict(), meta=meta)
    slot.clear()
    ta = whole_test_accuracy(network.to(device), table)
    if ta is not None:
        ui.say(f"Test accuracy {ta:.2f} % after the last of {chosen.epochs} epochs.")
    ui.say(f"Written: {out}")
    ui.result(
        {"out": str(out), "sha256": sha256(out), "split": fingerprint, "ta": ta, "samples": sum(loop.meter.values())}
    )
