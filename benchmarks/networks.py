"""The networks that `sublimate bench --edition cpu` and `verdicts.py cifar10` train, so that nobody trains them twice.

    python benchmarks/networks.py keep    # those in the cache folder -> docs/results/networks
    python benchmarks/networks.py take    # docs/results/networks -> the cache folder: bench goes on from there

A file is named by the digest of all that its training depends on, and no other file is taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tables import RESULTS
from verdicts import declared

from sublimate.bench.experiments import find
from sublimate.bench.planning import plan
from sublimate.bench.running import steps_of
from sublimate.files import make_folder, read_bytes, write_whole
from sublimate.plan import Step, result
from sublimate.plan.steps import order
from sublimate.store import Store

FOLDER, SEEDS = RESULTS / "networks", 3


def trained() -> dict[str, Step]:
    """The steps that train, by the name of the file that holds their network."""
    steps = steps_of(plan(find("all"), "cpu", SEEDS)) + [step for _, step in declared("cifar10")]
    return {f"{step.key}.safetensors": step for step in order(steps) if str(step.function).endswith(":train")}


def keep(store: Store) -> list[str]:
    """Write those that are there."""
    make_folder(FOLDER)
    found = {name: step for name, step in trained().items() if store.find(step.key)}
    for name, step in found.items():
        write_whole(FOLDER / name, result(step, store))
    return [step.name for step in found.values()]


def take(store: Store) -> list[str]:
    """Put those that are kept into the store."""
    found = {name: step for name, step in trained().items() if Path(FOLDER, name).is_file()}
    for name, step in found.items():
        store.link(step.key, store.put(read_bytes(FOLDER / name)))
    return [step.name for step in found.values()]


if __name__ == "__main__":
    for line in {"keep": keep, "take": take}[sys.argv[1]](Store()):
        print(line)
