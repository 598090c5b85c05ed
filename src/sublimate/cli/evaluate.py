"""`sublimate evaluate`: the paper's figures of one or several networks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    Arch,
    DataName,
    Device,
    Forget,
    Json,
    Mean,
    Quiet,
    Seed,
    Size,
    Std,
    Threads,
    open_model,
    start,
)
from .comparing import check_retrain
from .excluding import Exclude, asked, check_forget, precedes

if TYPE_CHECKING:
    from ..audits.evaluation import Scores
    from ..data.core import Data
    from ..networks import Network
    from ..splits import Split
    from .ui import Ui

EXAMPLE = "sublimate evaluate --model original.safetensors --model erased.safetensors --data digits --forget class:3"


def run(
    model: Annotated[list[Path], typer.Option("--model", help="A network; may be given several times.")],
    data: DataName,
    forget: Forget = None,
    exclude: Exclude = [],  # noqa: B006
    reference: Annotated[Path | None, typer.Option("--reference", help="The Retrain to measure gaps against.")] = None,
    sample: Annotated[int | None, typer.Option("--sample", min=1, help="At most so many rows per part.")] = None,
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
    """Accuracies on what was kept and forgotten, and the paper's attack; without --forget, the test accuracy."""
    ui, device = start(threads, device, json, quiet)
    from ..data.sources import load
    from ..report.rows import Row

    check_forget(forget, exclude)
    table = load(data, size=size)
    paths = [*model, *([reference] if reference else [])]
    networks = [open_model(path, table, arch, mean, std, device, ui) for path in paths]
    chosen = None if forget is None else asked(networks, forget, exclude, seed)
    if chosen:
        for note in chosen.notes:
            ui.note(note)
        _check_same_rows(networks, chosen)
        if reference:
            check_retrain(networks[-1], chosen)
    scores = [_scores(network, table, chosen, sample, ui) for network in networks]
    rows = [Row(name=name, scores=own) for name, own in zip(names_of(paths), scores, strict=True)]
    target = rows[-1].scores if reference else None
    counts = _counts(chosen, sample) if chosen else {"test": min(len(table.test), sample or len(table.test))}
    _show(ui, table, chosen, counts, rows, bool(reference))
    ui.result(_json(chosen, counts, list(map(str, model)), [row.scores for row in rows[: len(model)]], target))


def names_of(paths: list[Path]) -> list[str]:
    """The names of files; of those that are alike, the paths: the table finds its reference by the name.

    >>> names_of([Path("a/net.pt"), Path("b/net.pt"), Path("b/other.pt")])
    ['a/net.pt', 'b/net.pt', 'other.pt']
    """
    names = [path.name for path in paths]
    return [str(path) if names.count(path.name) > 1 else path.name for path in paths]


def _check_same_rows(networks: list[Network], chosen: Split) -> None:
    """Refuse networks of other splits, or whose training rows are not numbered alike."""
    from ..errors import InputRefused
    from ..splits import same

    for network in networks:
        if not precedes(network, chosen):
            same(network.split, chosen.fingerprint, network.path.name)
        if network.data.fingerprint != chosen.data.fingerprint:
            names = f"{network.path.name} and {networks[0].path.name}"
            raise InputRefused(f"{names} were not trained with the same canaries.", "Evaluate them one by one.")


def _scores(network: Network, table: Data, chosen: Split | None, sample: int | None, ui: Ui) -> Scores:
    from dataclasses import replace

    from ..audits.evaluation import Scores, evaluate, parts, whole_test_accuracy

    if chosen is None:
        with ui.count(network.path.name, len(table.test)) as tick:
            return Scores(ta=whole_test_accuracy(network.model, network.data, sample=sample, tick=tick))
    own = replace(chosen, data=network.data)
    with ui.count(network.path.name, sum(map(len, parts(own, sample)))) as tick:
        return evaluate(network.model, own, sample=sample, tick=tick)


def _show(
    ui: Ui, table: Data, chosen: Split | None, counts: dict[str, int], rows: list[Any], with_reference: bool
) -> None:
    from ..report.rows import Story
    from ..report.tables import meaning_lines, score_table

    story = Story(
        title=f"Evaluation on {table.name}",
        request=chosen.request.text if chosen else "",
        data=table.name,
        model="",
        split=chosen.fingerprint if chosen else "",
        counts=counts,
        rows=rows,
        reference=rows[-1].name if with_reference else None,
    )
    ui.say(score_table(story))
    for line in meaning_lines(story):
        ui.say(line)


def _counts(chosen: Split, sample: int | None) -> dict[str, int]:
    """The rows that were looked at."""
    import torch

    from ..audits.evaluation import parts

    retain, forget, test = parts(chosen, sample)
    counts, named = {"forget": len(forget), "retain": len(retain)}, chosen.named_classes
    if named is None:
        return counts | {"test_forget": 0, "test_retain": len(test)}
    gone, earlier = (int(torch.isin(test.labels, classes).sum()) for classes in (named, chosen.gone_earlier))
    return counts | {"test_forget": gone, "test_retain": len(test) - gone - earlier}


def _json(
    chosen: Split | None, counts: dict[str, int], paths: list[str], scores: list[Scores], target: Scores | None
) -> dict[str, Any]:
    if chosen is None:
        return {"models": [{"model": path, "ta": own.ta} for path, own in zip(paths, scores, strict=True)]}
    found = [
        {"model": path, **asdict(own), "gap": own.gap(target) if target else None}
        for path, own in zip(paths, scores, strict=True)
    ]
    return {"split": chosen.fingerprint, "n": counts, "models": found}
