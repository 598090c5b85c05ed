"""What tier 1 of the audit costs, over the bare forward passes of the images it looks at, alternating in one run.

    python benchmarks/audit.py [--checkpoint FILE] [--rounds 3]

5,000 forgotten and 8,000 never-seen records of CIFAR-10 and a sample of the retained ones, a clean pass and two views
of each, through two ResNet-20 (random weights unless a checkpoint is given).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from torch import nn

from sublimate.audits.auditing import audit
from sublimate.audits.outputs import BATCH, PASSES
from sublimate.audits.sampling import looked_at
from sublimate.data.sources import load
from sublimate.inference import prepare
from sublimate.models.memory import channels_last
from sublimate.models.registry import build
from sublimate.networks import open_network
from sublimate.runtime import keep_pages
from sublimate.splits import Part, Split, split

TARGET = 1.3


def bare(model: nn.Module, chosen: Split) -> float:
    """Seconds of nothing but the passes: two networks, as many images, batches of the same size."""
    parts = looked_at(chosen, chosen).values()
    data, images = chosen.data, 2 * PASSES * sum(map(len, parts))
    batch = data.train[: PASSES * BATCH]
    x = prepare(Part(data, batch, "bare"), data.read(batch)[0])
    began = perf_counter()
    with torch.inference_mode():
        for _ in range(images // len(x)):
            model(x)
    return (perf_counter() - began) * images / (images // len(x) * len(x))


def audited(model: nn.Module, chosen: Split) -> float:
    """Seconds of the whole of tier 1."""
    began = perf_counter()
    found = audit(model, original=model, split=chosen)
    assert (found.n["forget"], found.n["control"]) == (5000, 8000)
    return perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    keep_pages()
    data = load("cifar10")
    network = open_network(given.checkpoint, data) if given.checkpoint else None
    model = channels_last(network.model if network else build("he-resnet20", 10)).eval()
    chosen = split(network.data if network else data, "random@10%")
    ratios = []
    for _ in range(given.rounds):
        before, own, after = bare(model, chosen), audited(model, chosen), bare(model, chosen)
        ratios.append(own / ((before + after) / 2))
        print(f"audit {own:.1f} s, bare passes {before:.1f} and {after:.1f} s, ratio {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {median(ratios):.3f} (at most {TARGET}), {torch.get_num_threads()} threads")
    return int(median(ratios) > TARGET)


if __name__ == "__main__":
    sys.exit(main())
