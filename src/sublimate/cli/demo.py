"""`sublimate demo`: train on digits, forget one, compare with a network that never saw it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import Device, Json, Quiet, Seed, Threads, start
from .story import story_of

if TYPE_CHECKING:
    from torch import nn

    from ..data.core import Data
    from ..report.rows import Row
    from ..splits import Split
    from .ui import Ui

EXAMPLE = "sublimate demo --out demo"
REQUEST, MODEL = "class:3", "small-cnn"


def run(
    out: Annotated[Path, typer.Option("--out", help="Folder for the networks and the page.")] = Path("demo"),
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Erase a class from a digit classifier and compare with Retrain; ends with the path of a page."""
    ui, device = start(1 if threads is None else threads, device, json, quiet)  # a second thread would only wait
    from ..data.sources import load
    from ..files import check_writable, make_folder
    from ..report.page import write_page
    from ..report.tables import meaning_lines, score_table
    from ..splits import split

    page = out / "report.html"
    make_folder(out)
    check_writable(page)
    data = load("digits")
    chosen = split(data, REQUEST, seed=seed)
    original, first = _trained(ui, data, chosen, "Original", seed, device, out)
    rows = [first, _trained(ui, data, chosen, "Retrain", seed, device, out)[1]]
    rows += [row for wanted in _wanted() if (row := _erased(ui, original, chosen, *wanted, seed, out))]
    story = story_of(data, chosen, MODEL, rows, "Retrain", command=f"sublimate demo --out {out} --seed {seed}")
    write_page(story, page)
    ui.say(score_table(story))
    for line in meaning_lines(story):
        ui.say(line)
    ui.say(f"Report: {page.resolve()}")
    ui.result({"report": str(page), "split": chosen.fingerprint, "rows": [row.name for row in rows]})


def _trained(ui: Ui, data: Data, chosen: Split, name: str, seed: int, device: str, out: Path) -> tuple[nn.Module, Row]:
    from ..audits.evaluation import evaluate
    from ..checkpoint import save_checkpoint
    from ..forgotten import remembered
    from ..networks import describe, factory
    from ..report.rows import Row
    from ..splits import Part
    from ..training import find_recipe, fit

    recipe, rows = find_recipe("fast"), data.train if name == "Original" else chosen.retain
    began = time.perf_counter()
    with ui.steps(name) as progress:
        model, loop = fit(
            factory(MODEL, data), Part(data, rows, "train"), recipe, seed=seed, device=device, progress=progress
        )
    seconds = time.perf_counter() - began
    made = recipe.describe() | {"seed": seed}
    never = {} if name == "Original" else {"split": chosen.fingerprint, "forgotten": remembered({}, chosen)}
    meta = describe(MODEL, data, recipe=made, **never)
    save_checkpoint(out / f"{name.lower()}.safetensors", model.state_dict(), meta=meta)
    scores = evaluate(model, chosen)
    return model, Row(name=name, scores=scores, seconds=seconds, samples=sum(loop.meter.values()))


def _wanted() -> list[tuple[str, str, str]]:
    """Method, preset and label of every row: all methods that can serve the request on a network trained as usual."""
    from ..unlearn import METHODS

    rows = [("siamese", "paper", "Siamese as in the paper"), ("siamese", "auto", "Siamese auto")]
    shown = {"original", "retrain", "siamese"}
    others = {name: cls for name, cls in METHODS.items() if name not in shown and not cls.needs_records}
    return rows + [(name, "auto", name) for name in others]


def _erased(
    ui: Ui, original: nn.Module, chosen: Split, method: str, preset: str, label: str, seed: int, out: Path
) -> Row | None:
    from ..audits.evaluation import evaluate
    from ..checkpoint import digest_of, save_checkpoint
    from ..errors import UnlearningFailed
    from ..forgotten import remembered
    from ..networks import describe
    from ..pipeline import erase_split
    from ..report.rows import Row
    from ..splits import split
    from ..unlearn import find

    asked = split(chosen.data, REQUEST, few=find(method).few, seed=seed)
    try:
        with ui.steps(label) as progress:
            result = erase_split(
                original, asked, method=method, preset=preset, options={"seed": seed}, evaluated=False,
                progress=progress,
            )  # fmt: skip
    except UnlearningFailed as failure:
        ui.warn(f"{label}: {failure.cause}")
        return None
    meta = describe(
        MODEL,
        chosen.data,
        split=chosen.fingerprint,
        parent=digest_of(original.state_dict()),
        method={"name": method, "options": dict(result.record.options), "choices": result.record.choices},
        forgotten=remembered({}, chosen),
    )
    name = f"{method}-{preset}" if method == "siamese" else method
    save_checkpoint(out / f"{name}.safetensors", result.model.state_dict(), meta=meta)
    return Row(
        name=label,
        scores=evaluate(result.model, chosen),
        seconds=result.seconds,
        samples=result.samples,
        record=result.record,
    )
