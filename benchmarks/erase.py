"""What erasing costs, as ratios measured in one run.

Time: an iteration of Siamese unlearning against the floor, a bare forward and backward of as many views through the
same network.  Memory: Siamese unlearning against plain fine-tuning with as many images in flight.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import nn

from sublimate.data.batches import Batch, Batches, Meter
from sublimate.data.core import Data
from sublimate.data.views import VIEWS
from sublimate.inference import prepare
from sublimate.loop import Loop
from sublimate.models.memory import channels_last
from sublimate.models.registry import build
from sublimate.phase import Losses, Phase
from sublimate.randomness import stream
from sublimate.runtime import keep_pages
from sublimate.splits import Part
from sublimate.unlearn.siamese import Siamese

NETWORK, CLASSES, ROWS, FEW = "he-resnet20", 10, 50_000, 1000
BATCH = 128  # of D_f, and of S_r; two views of each are in flight
WARM = 2  # first iterations that do not count
LR = 1e-2  # high enough that a few iterations have an effect, without which the run is refused
TIME_TARGETS = {"simple": 1.15, "cutout": 1.15, "contrastive": 1.30}
MEMORY_TARGET = 1.10
UPDATES = 12  # in a process whose memory is measured


@dataclass(frozen=True)
class Row:
    """One ratio, once per round; its median shall not exceed the target, where there is one."""

    name: str
    ratios: list[float]
    target: float | None
    detail: str

    @property
    def missed(self) -> bool:
        return self.target is not None and median(self.ratios) > self.target

    @property
    def quartiles(self) -> tuple[float, float]:
        low, _, high = quantiles(self.ratios, method="inclusive")
        return low, high


def noise() -> Data:
    """As many rows as CIFAR-10 has, of random pixels and labels."""
    g = torch.Generator().manual_seed(0)
    return Data(
        name="noise",
        images=torch.randint(256, (ROWS, 3, 32, 32), dtype=torch.uint8, generator=g),
        labels=torch.randint(CLASSES, (ROWS,), generator=g),
        sizes=(ROWS, 0, 0),
        classes=tuple(map(str, range(CLASSES))),
        mean=(0.5, 0.5, 0.5),
        std=(0.25, 0.25, 0.25),
    )


def network() -> nn.Module:
    """Random weights, in the mode in which `Siamese` runs."""
    torch.manual_seed(0)
    return channels_last(build(NETWORK, CLASSES)).eval()


def siamese(model: nn.Module, data: Data, iterations: int, views: str = "simple") -> list[float]:
    """Run the product; gives the moments at which its iterations ended."""
    ticks: list[float] = []
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(1))
    few, forget = order[:FEW], order[FEW : FEW + iterations * BATCH]
    Siamese(lr=LR, epochs=1, batch_size=BATCH, views=views).run(
        model,
        Part(data, forget, "forget"),
        Part(data, few, "retain"),
        ratios=torch.bincount(data.labels[forget], minlength=CLASSES) / torch.bincount(data.labels),
        progress=lambda _: ticks.append(perf_counter()),
    )
    return ticks


def floor(model: nn.Module, data: Data, iterations: int) -> list[float]:
    """Nothing but forward and backward of what one iteration of `siamese` shows the network."""
    part, ticks = Part(data, data.train[: 2 * BATCH], "floor"), []
    x, y = prepare(part, data.read(part.rows)[0]), part.labels
    for _ in range(iterations):
        for _ in ("S_r", "D_f"):
            model.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
        ticks.append(perf_counter())
    return ticks


def finetune(model: nn.Module, data: Data, updates: int) -> None:
    """Descend on cross entropy, on the product's own loop."""
    part, meter = Part(data, data.train[: updates * 2 * BATCH], "retain"), Meter()

    def step(batch: Batch) -> Losses:
        x = VIEWS["simple"](batch.x, stream(0, "views", batch.t))
        return {"ce": F.cross_entropy(model(prepare(part, x)), batch.y)}

    over = Batches(part, 2 * BATCH, seed=0, meter=meter, device=torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=1e-4)
    phase = Phase(name="finetune", over=over, epochs=1, steps=(step,), optimizer=optimizer, lr=LR)
    Loop(model, 0, meter).run([phase])


def per_iteration(ticks: list[float]) -> float:
    """Median of the whole iterations after the warm ones.

    >>> per_iteration([0.0, 9.0, 10.0, 12.0, 13.0])
    1.0
    """
    return median(b - a for a, b in pairwise(ticks[WARM - 1 :]))


def seconds_to_draw(view: str, data: Data, calls: int) -> float:
    """Median time of one call for 2·BATCH views."""
    x, g, ticks = data.read(data.train[: 2 * BATCH])[0], torch.Generator().manual_seed(0), []
    for _ in range(WARM + calls):
        VIEWS[view](x, g)
        ticks.append(perf_counter())
    return per_iteration(ticks)


def time_rows(rounds: int, counted: int) -> Iterator[Row]:
    """Erase, floor and view alternate, so that whatever else the machine does falls on all of them."""
    data, model, iterations = noise(), network(), WARM + counted
    erase, bare, draw = ({view: list[float]() for view in TIME_TARGETS} for _ in range(3))
    for _ in track(range(rounds), "time", console=Console(stderr=True)):
        for view in TIME_TARGETS:
            erase[view].append(per_iteration(siamese(model, data, iterations, view)))
            bare[view].append(per_iteration(floor(model, data, iterations)))
            draw[view].append(seconds_to_draw(view, data, calls=5))
    for view, target in TIME_TARGETS.items():
        ratios = [e / b for e, b in zip(erase[view], bare[view], strict=True)]
        detail = f"{median(erase[view]):.3f} / {median(bare[view]):.3f} s"
        yield Row(f"erase, {view}", ratios, target, detail)
    for view in TIME_TARGETS:
        shares = [2 * d / b for d, b in zip(draw[view], bare[view], strict=True)]
        yield Row(f"views, {view}", shares, None, f"{2 * BATCH / median(draw[view]):,.0f} views/s")


def grown(kind: str) -> int:
    """Bytes by which a fresh process grows at its peak."""
    command = [sys.executable, __file__, "--child", kind]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def child(kind: str) -> None:
    keep_pages()
    data, model = noise(), network()
    torch.optim.SGD(model.parameters(), lr=LR)  # torch imports 800 modules with the first optimizer
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    # The heap scatters a little more with every update, so both make as many of them.
    if kind == "siamese":
        siamese(model, data, iterations=UPDATES // 2)
    else:
        finetune(model, data, updates=UPDATES)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)


def memory_row(rounds: int) -> Row:
    kinds = ("siamese", "finetune")
    found = [tuple(map(grown, kinds)) for _ in track(range(rounds), "memory", console=Console(stderr=True))]
    ours, plain = (median(column) / 2**20 for column in zip(*found, strict=True))
    detail = f"{ours:.0f} / {plain:.0f} MiB"
    return Row("memory", [a / b for a, b in found], MEMORY_TARGET, detail)


def show(rows: list[Row]) -> None:
    table = Table("ratio", "median", "quartiles", "target", "", "measured")
    for row in rows:
        target = "" if row.target is None else f"≤ {row.target:.2f}"
        word = "" if row.target is None else "[red]miss" if row.missed else "[green]pass"
        low, high = row.quartiles
        table.add_row(row.name, f"{median(row.ratios):.3f}", f"{low:.3f} – {high:.3f}", target, word, row.detail)
    Console().print(table, f"torch {torch.__version__}, {torch.get_num_threads()} threads")


def as_json(rows: list[Row]) -> str:
    found = [
        {"name": r.name, "median": median(r.ratios), "quartiles": r.quartiles, "target": r.target, "detail": r.detail}
        for r in rows
    ]
    return json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads(), "rows": found}, indent=1) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: does it run, roughly where does it stand")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the ratios as JSON")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    rounds, counted = (2, 2) if options.quick else (5, 4)
    # Memory first: a child inherits the high-water mark of its parent, which is still low here.
    rows = [memory_row(rounds)]
    keep_pages()
    rows += time_rows(rounds, counted)
    show(rows)
    if options.out:
        options.out.write_text(as_json(rows))
    return int(any(row.missed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
