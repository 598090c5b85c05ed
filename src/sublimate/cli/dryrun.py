"""`sublimate erase --dry-run`: what would happen, and what it costs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from torch import nn

    from ..networks import Network
    from ..records import TrainingRecords
    from ..splits import Part, Split
    from .ui import Ui


def tell(
    ui: Ui,
    network: Network,
    split: Split,
    method: str,
    preset: str,
    options: dict[str, Any],
    records: TrainingRecords | None = None,
) -> None:
    """Rows per class, samples, minutes, memory and warnings; nothing is written, and what a run refuses is refused."""
    from ..unlearn.presets import check, plan, reads_retained

    check(method, preset, options, network.model, split, records)
    images, in_flight = plan(method, preset, options, split)
    seconds, bytes_ = _cost(network.model, split.few_set, min(in_flight, 64))
    rows, warnings = _rows(split), _warnings(split, reads_retained(method, preset, options, split))
    facts = {
        "split": split.fingerprint,
        "rows": rows,
        "images": images,
        "minutes": round(images * seconds / 60, 1),
        "megabytes": round(bytes_ * in_flight / 1e6),
        "warnings": warnings,
    }
    table = Table("class", "forget", "of", title=f"{escape(split.request.text)}, split {split.fingerprint}")
    for name, (gone, whole) in rows.items():
        table.add_row(escape(name), str(gone), str(whole))
    ui.say(table)
    ui.say(f"At most {images} images through the network, about {facts['minutes']} minutes.")
    ui.say(f"About {facts['megabytes']} MB of memory beyond the network and the data.")
    for warning in warnings:
        ui.warn(warning)
    ui.say("Nothing was written.")
    ui.result(facts)


def _rows(split: Split) -> dict[str, tuple[int, int]]:
    labels, gone = split.data.labels, split.data.labels[split.forget]
    counts = {
        name: (int((gone == k).sum()), int((labels[split.data.train] == k).sum()))
        for k, name in enumerate(split.data.classes)
    }
    return {name: pair for name, pair in counts.items() if pair[0]}


def _cost(model: nn.Module, part: Part, batch: int) -> tuple[float, float]:
    """Seconds and bytes per image of one forward and backward pass, measured on a copy."""
    import copy

    import torch

    from ..inference import device_of, prepare
    from ..models.memory import channels_last
    from ..models.outputs import logits

    copied, sizes = channels_last(copy.deepcopy(model)), list[int]()
    for module in copied.modules():
        if not list(module.children()):
            module.register_forward_hook(lambda m, i, o: sizes.append(o.nbytes if isinstance(o, torch.Tensor) else 0))
    x = part.data.read(part.rows[:batch])[0].to(device_of(model))
    seconds = []
    for _ in range(3):
        sizes.clear()
        began = time.perf_counter()
        logits(copied(prepare(part, x))).sum().backward()
        seconds.append(time.perf_counter() - began)
    return min(seconds) / len(x), 2.0 * sum(sizes) / len(x)


def _warnings(split: Split, reads_retained: bool) -> list[str]:
    import torch

    found = []
    if not len(split.val):
        found.append("The data has no test or validation rows: nothing can be chosen or judged on never-seen records.")
    here = split.data.labels[split.few].unique()
    missing = [split.data.classes[int(k)] for k in split.data.labels[split.retain].unique() if not torch.isin(k, here)]
    if missing and reads_retained:
        found.append(f"The retained sample shows no record of {', '.join(missing)}: raise --few.")
    if len(split.forget) > len(split.retain):
        found.append("More is forgotten than kept: training anew without these records may be the better way.")
    return found
