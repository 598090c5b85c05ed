"""`sublimate train`: an original, or (with --forget) the Retrain that never saw those records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .common import (
    DataName,
    Device,
    Forget,
    Json,
    Quiet,
    Seed,
    Size,
    Threads,
    clear,
    inputs_of,
    run_key,
    signals,
    slots_of,
    start,
)
from .excluding import Exclude, check_forget, named
from .keeping import Keeper

if TYPE_CHECKING:
    from ..data.core import Data
    from ..recording import Recorder

EXAMPLE = "sublimate train --data digits --model small-cnn --out original.safetensors"


def run(
    data: DataName,
    model: Annotated[str, typer.Option("--model", help="Built-in name or module:function.")],
    out: Annotated[Path, typer.Option("--out", help="Where the network is written (safetensors).")],
    forget: Forget = None,
    exclude: Exclude = [],  # noqa: B006
    recipe: Annotated[str, typer.Option("--recipe", help="fast or paper.")] = "fast",
    views: Annotated[str, typer.Option("--views", help="simple, contrastive, cutout or none.")] = "simple",
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="In place of the recipe's.")] = None,
    records: Annotated[Path | None, typer.Option("--records", help="Keep what --for needs (safetensors).")] = None,
    for_: Annotated[str | None, typer.Option("--for", help="Keep records for: sisa, amnesiac-true.")] = None,
    shards: Annotated[int | None, typer.Option("--shards", min=1, help="Networks that vote, for sisa; 5.")] = None,
    slices: Annotated[int | None, typer.Option("--slices", min=1, help="Of each shard, for sisa; 4.")] = None,
    watch: Annotated[str | None, typer.Option("--watch", help="What may be asked for, for amnesiac-true.")] = None,
    canaries: Annotated[int | None, typer.Option("--canaries", help="Records planted for audits; half in.")] = None,
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
    from ..canaries import plant
    from ..checkpoint import save_checkpoint
    from ..checkpoint.saving import kind_of
    from ..data.sources import load
    from ..files import check_outputs, sha256, write_whole
    from ..forgotten import remembered
    from ..networks import describe, factory
    from ..records import digest_of_data
    from ..splits import Part, split
    from ..training import find_recipe, fit, plain

    listed = out.with_suffix(".canaries.txt") if canaries is not None else None
    check_forget(forget, exclude)
    check_outputs((out, records, listed), inputs_of(data, (forget, watch, *exclude)))
    chosen, table = find_recipe(recipe, epochs=epochs, views=views), load(data, size=size)
    table, planted = (table, None) if canaries is None else plant(table, canaries, seed)
    wanted = {"shards": shards, "slices": slices, "watch": watch}
    recorder, model = _recorder(records, for_, model, table, seed, wanted)
    build = factory(model, table)
    if kind_of(out) == "torch":
        ui.note(f"{out.name} will hold the weights alone: its later users give --arch, --mean and --std.")
    request = None if forget is None else split(table, forget, seed=seed, exclude=named(exclude, table, seed))
    for note in request.notes if request else ():
        ui.note(note)
    rows = request.retain if request else table.train
    fingerprint = request.fingerprint if request else None
    ui.say(f"Training {model} on {len(rows)} records of {table.name}" + (f", without {forget}." if forget else "."))
    facts = {"data": digest_of_data(table), "split": fingerprint, "recipe": chosen.describe(), "seed": seed}
    slots = slots_of(ui, run_key(train=model, device=device, records=recorder and recorder.depends_on, **facts))
    with signals() as interrupted, ui.steps(table.name) as progress:
        network, loop = fit(
            build, Part(table, rows, "train"), chosen, seed=seed, device=device,
            phases=recorder.phases if recorder else plain, progress=progress,
            saver=Keeper(ui, interrupted).keep(slots[0]), interrupted=interrupted,
        )  # fmt: skip
    made = chosen.describe() | {"seed": seed} | ({"canaries": planted.facts} if planted else {})
    meta = describe(model, table, recipe=made, split=fingerprint, forgotten=remembered({}, request) if request else {})
    if records and recorder and recorder.records:
        recorder.records.save(records)
    save_checkpoint(out, network.cpu().state_dict(), meta=meta)
    if planted and listed:
        write_whole(listed, "\n".join((*planted.ids, "")).encode())
        ui.say(
            f"{len(planted.ids)} of {canaries} canaries are records of this data: ids:{listed} asks for their deletion."
        )
    clear(slots)
    ta = whole_test_accuracy(network.to(device), table)
    if ta is not None:
        ui.say(f"Test accuracy {ta:.2f} % after the last of {chosen.epochs} epochs.")
    ui.say("Written: " + ", ".join(str(path) for path in (out, records, listed) if path))
    told = {"out": str(out), "sha256": sha256(out), "split": fingerprint, "ta": ta}
    ui.result(told | {"samples": sum(loop.meter.values()), "canaries": str(listed) if listed else None})


def _recorder(
    records: Path | None,
    method: str | None,
    model: str,
    table: Data,
    seed: int,
    wanted: dict[str, Any],
) -> tuple[Recorder | None, str]:
    """Who keeps records, if any are wanted, and the architecture that is trained."""
    if (records is None) != (method is None):
        raise UsageError("Only one of --records and --for is given.", "Give both, or none.")
    given = {name: value for name, value in wanted.items() if value is not None}
    if method is None and given:
        raise UsageError(f"--{next(iter(given))} says how records are kept, and none are.", "Give --records and --for.")
    if method is None:
        return None, model
    from ..recording import find_recorder

    return find_recorder(method, model, table, seed=seed, **given)
