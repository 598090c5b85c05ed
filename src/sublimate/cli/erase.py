"""`sublimate erase`: the main job."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UnlearningFailed, UsageError
from .audit import as_json, with_audit
from .common import (
    REQUEST,
    Arch,
    DataName,
    Device,
    Json,
    Mean,
    Quiet,
    Seed,
    Size,
    Std,
    Threads,
    clear,
    few_of,
    inputs_of,
    open_model,
    options_of,
    own_factory,
    run_key,
    signals,
    slots_of,
    start,
)
from .comparing import check_comparable, check_retrain
from .erased import judged, summarise
from .excluding import Exclude, excluded
from .keeping import Keeper
from .story import report_on

if TYPE_CHECKING:
    from ..networks import Network
    from ..pipeline import Result
    from ..records import TrainingRecords
    from ..splits import Split
    from ..store import Slot
    from .ui import Ui

EXAMPLE = "sublimate erase --model original.safetensors --data digits --forget class:3 --out erased.safetensors"


def run(
    model: Annotated[Path, typer.Option("--model", help="The network: ours, or a state dict (.pt .pth .safetensors).")],
    data: DataName,
    forget: Annotated[str, REQUEST],
    out: Annotated[Path, typer.Option("--out", help="The erased network, in the layout of --model.")],
    exclude: Exclude = [],  # noqa: B006
    method: Annotated[str, typer.Option("--method", help="How; `sublimate methods` lists them.")] = "siamese",
    preset: Annotated[str, typer.Option("--preset", help="auto, paper, or a preset file.")] = "auto",
    few: Annotated[str | None, typer.Option("--few", help="Retained records it may read, or all.")] = None,
    set_: Annotated[list[str], typer.Option("--set", help="An option of the method, say lr=1e-3.")] = [],  # noqa: B006
    reference: Annotated[list[Path], typer.Option("--reference", help="A Retrain to compare with.")] = [],  # noqa: B006
    audit: Annotated[
        int | None,
        typer.Option("--audit", min=1, max=2, metavar="TIER", help="Judge it: 1 by its answers, 2 by all means."),
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page about it (HTML).")] = None,
    records: Annotated[Path | None, typer.Option("--records", help="What train kept for the method.")] = None,
    records_out: Annotated[Path | None, typer.Option("--records-out", help="Write what is still true of it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and what it costs.")] = False,
    no_evaluate: Annotated[bool, typer.Option("--no-evaluate", help="Skip the figures before and after.")] = False,
    size: Size = None,
    arch: Arch = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Erase what REQUEST names from a trained network; the result loads wherever the original did."""
    ui, device = start(threads, device, json, quiet)
    from ..data.sources import load
    from ..files import check_outputs
    from ..request import parse
    from ..splits import split
    from ..unlearn import find
    from ..unlearn.presets import serving

    if report and no_evaluate and audit is None:
        raise UsageError("--report has nothing to show with --no-evaluate.", "Leave one of them out, or add --audit 1.")
    read = inputs_of(data, (forget, *exclude), model, records, *reference, Path(preset))
    check_outputs((out, report, records_out), read)
    kept, table = _records(records), load(data, size=size)
    network = open_model(model, table, arch, mean, std, device, ui)
    asked, options = parse(forget, network.data.classes, network.data.ids), {"seed": seed} | options_of(set_)
    method = serving(method, preset, options, asked)
    if records_out and not find(method).needs_records:
        raise UsageError(f"{method} leaves no records of training.", "Leave --records-out out.")
    earlier = excluded(network, exclude, seed)
    chosen = split(network.data, asked, few=few_of(few, method), seed=seed, exclude=earlier)
    for note in (*chosen.notes, *_unsaid(out, network)):
        ui.note(note)
    references = [open_model(path, table, arch, mean, std, device, ui) for path in reference]
    _check_judges(network, references, chosen, audited=audit is not None, seed=seed)
    if dry_run:
        from .dryrun import tell

        tell(ui, network, chosen, method, preset, options, kept)
        return
    slots = _slots(ui, network, chosen, method, preset, options, kept)
    try:
        result = _run(ui, network, chosen, method, preset, options, not no_evaluate, slots, kept)
        if records_out and result.records:
            result.records.save(records_out)
        digest = _write(out, network, result)
    except UnlearningFailed:
        clear(slots)  # the same run would only fail again
        raise
    clear(slots)
    story = summarise(ui, network, result, references, out, paged=report is not None)
    found = judged(ui, network, result, references, audit, device, seed)
    if records:
        ui.note(f"{records} still holds what was erased: delete it, as {model}.")
    ui.result(_json(out, digest, result) | {"audit": as_json(found) if found else None})
    if report and (story.rows or found):
        told = with_audit(story, result.split, found) if found else story
        report_on(ui, told, report, f"The network is written to {out}")
    if found:
        raise typer.Exit(found.exit_code)


def _check_judges(network: Network, references: list[Network], chosen: Split, audited: bool, seed: int) -> None:
    """Refuse what could not be compared or audited afterwards, before the work is done."""
    for retrained in references:
        check_retrain(retrained, chosen)
        check_comparable(retrained, network, chosen)
    if audited:
        from ..audits.auditing import check_auditable

        check_auditable(chosen, seed if network.canary_seed is None else network.canary_seed)


def _unsaid(out: Path, network: Network) -> tuple[str, ...]:
    """A note when the file to be written cannot say what the one that was read says."""
    from ..checkpoint.saving import kind_of

    if network.checkpoint.meta is None or kind_of(out, network.checkpoint.layout) == "safetensors":
        return ()
    return (f"{out.name} will hold the weights alone: its later users give --arch, --mean, --std and --exclude.",)


def _records(path: Path | None) -> TrainingRecords | None:
    from ..records import TrainingRecords

    return TrainingRecords.load(path) if path else None


def _slots(
    ui: Ui,
    network: Network,
    chosen: Split,
    method: str,
    preset: str,
    options: dict[str, Any],
    records: TrainingRecords | None,
) -> tuple[Slot | None, ...]:
    """Where the choices and the state of this very run are kept while it is unfinished."""
    from ..checkpoint import digest_of
    from ..inference import device_of
    from ..records import digest_of_data
    from ..unlearn.presets import settled

    key = run_key(
        erase=method, chosen=preset == "auto", options=settled(method, preset, options), split=chosen.fingerprint,
        few=chosen.few.tolist(), model=digest_of(network.model.state_dict()), data=digest_of_data(network.data),
        records=digest_of(records.tensors) if records else None, device=str(device_of(network.model)),
    )  # fmt: skip
    return slots_of(ui, f"probe {key}", f"run {key}")


def _run(
    ui: Ui,
    network: Network,
    chosen: Split,
    method: str,
    preset: str,
    options: dict[str, Any],
    evaluated: bool,
    slots: tuple[Slot | None, ...],
    records: TrainingRecords | None,
) -> Result:
    from ..checkpoint import round_as
    from ..pipeline import check_changed, erase_split

    ui.say(f"Erasing {chosen.request.text}: {len(chosen.forget)} of {network.data.sizes[0]} records, by {method}.")
    with signals() as interrupted, ui.steps(method) as progress:
        keeper = Keeper(ui, interrupted)
        result = erase_split(
            network.model, chosen, method=method, preset=preset, options=options, evaluated=evaluated,
            records=records, factory=own_factory(network), progress=progress,
            savers=(keeper.keep(slots[0]), keeper.keep(slots[1])), interrupted=interrupted,
            finish=lambda model: round_as(model, network.checkpoint.layout),
        )  # fmt: skip
    check_changed(network.model, result.model)
    return result


def _write(out: Path, network: Network, result: Result) -> str:
    from ..checkpoint import digest_of, save_checkpoint
    from ..files import sha256
    from ..forgotten import remembered
    from ..networks import describe

    record = result.record
    meta = describe(
        network.architecture,
        network.data,
        recipe=network.checkpoint.meta.recipe if network.checkpoint.meta else {},
        split=result.split.fingerprint,
        parent=digest_of(network.model.state_dict()),
        method={"name": record.method, "options": dict(record.options), "choices": record.choices},
        forgotten=remembered(network.forgotten, result.split),
    )
    save_checkpoint(out, result.model.cpu().state_dict(), meta=meta, layout=network.checkpoint.layout)
    return sha256(out)


def _json(out: Path, digest: str, result: Result) -> dict[str, Any]:
    return {
        "out": str(out),
        "sha256": digest,
        "split": result.split.fingerprint,
        "before": asdict(result.before) if result.before else None,
        "after": asdict(result.after) if result.after else None,
        "seconds": round(result.seconds, 3),
        "samples": result.samples,
        "stopped": result.record.stopped,
        "choices": result.record.choices,
        "warnings": result.record.warnings,
    }
