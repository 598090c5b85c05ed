"""`sublimate audit`: is the forgotten data distinguishable from data that the network never saw?"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    inputs_of,
    open_model,
    start,
)
from .comparing import check_comparable, check_retrain
from .excluding import Exclude, excluded
from .story import report_on, story_of

if TYPE_CHECKING:
    from torch import nn

    from ..audits.result import Audit
    from ..networks import Network
    from ..report.rows import Story
    from ..splits import Split
    from .ui import Ui

EXAMPLE = "sublimate audit --model erased.safetensors --original original.safetensors --data digits --forget class:3"


def run(
    model: Annotated[Path, typer.Option("--model", help="The erased network.")],
    original: Annotated[Path, typer.Option("--original", help="The network before.")],
    data: DataName,
    forget: Annotated[str, REQUEST],
    exclude: Exclude = [],  # noqa: B006
    reference: Annotated[list[Path], typer.Option("--reference", help="A Retrain; may be given several times.")] = [],  # noqa: B006
    tier: Annotated[int, typer.Option("--tier", min=1, max=2, help="1: by its answers; 2: by all means.")] = 1,
    sample: Annotated[int | None, typer.Option("--sample", min=1, help="At most so many rows per part.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page about it (HTML).")] = None,
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
    """Judge an erased network: PASS (exit 0), FAIL (7) or INCONCLUSIVE (8), with every figure it stands on."""
    ui, device = start(threads, device, json, quiet)
    from ..data.sources import load
    from ..files import check_outputs
    from ..splits import split

    check_outputs((report,), inputs_of(data, (forget, *exclude), model, original, *reference))
    table = load(data, size=size)
    before, erased, *references = (
        open_model(path, table, arch, mean, std, device, ui) for path in (original, model, *reference)
    )
    chosen = split(before.data, forget, seed=seed, exclude=excluded(before, exclude, seed))
    for note in chosen.notes:
        ui.note(note)
    check_comparable(erased, before, chosen)
    for retrained in references:
        check_retrain(retrained, chosen)
        check_comparable(retrained, before, chosen)
    found = judge(ui, erased.model, before, references, chosen, tier, sample, seed)
    ui.result(as_json(found))
    if report:
        story = with_audit(story_of(before.data, chosen, before.architecture, [], None), chosen, found)
        story = replace(story, title=f"Audit: {story.title[0].lower()}{story.title[1:]}")
        report_on(ui, story, report, f"The verdict is {found.verdict}")
    raise typer.Exit(found.exit_code)


def judge(
    ui: Ui,
    erased: nn.Module,
    original: Network,
    references: Sequence[Network],
    chosen: Split,
    tier: int,
    sample: int | None,
    seed: int,
    mia: Mapping[str, float] | None = None,
) -> Audit:
    """Audit and tell, verdict first; plain ids of records are shown on the terminal and nowhere else.

    `mia` is the paper's attack on all records, where it was carried out already: an audit fits it on a sample.
    """
    from ..audits.auditing import audit, images_at_tier_1
    from ..report.audit.tables import audit_lines

    ids = list[str]()
    ui.say(f"Auditing at tier {tier}: {len(chosen.forget)} forgotten records against never-seen ones.")
    planted = seed if original.canary_seed is None else original.canary_seed
    known = [(network.model, network.split) for network in references]
    with ui.count("audit", images_at_tier_1(chosen, sample, planted)) as tick:
        found = audit(
            erased, original=original.model, split=chosen, reference=known, tier=tier, sample=sample, seed=seed,
            canary_seed=planted, tick=tick, worst_ids=ids.extend,
        )  # fmt: skip
    if mia:
        found = found.model_copy(update={"mia": dict(mia)})
    for line in audit_lines(found, ids):
        ui.say(line)
    return found


def with_audit(story: Story, chosen: Split, found: Audit) -> Story:
    """The story of a request with the audit of its result; named records are counted, not named."""
    from ..request import Records

    asked = chosen.request.text
    if isinstance(chosen.request, Records):
        asked = f"{len(chosen.forget)} named record{'' if len(chosen.forget) == 1 else 's'}"
    return replace(story, title=story.title.replace(chosen.request.text, asked), request=asked, audit=found)


def as_json(found: Audit) -> dict[str, Any]:
    """The result for programs: what is no number is null."""
    told: dict[str, Any] = jsonlib.loads(found.model_dump_json())
    return told
