"""Every method on three scenarios, at its defaults, beside Retrain.

    python benchmarks/methods.py fashion-mini          # small CNN, three seeds, our originals and Retrain
    python benchmarks/methods.py cifar10               # a public ResNet-8, retain budget 5,000, no Retrain

Runs through the plan: killed and started again it continues, and two processes share the work.
Writes docs/results/methods-<data>.jsonl and .md from whatever is done.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sublimate.bench import steps as does
from sublimate.files import sha256, write_whole
from sublimate.plan import Advance, Step, price, result, run
from sublimate.store import Store
from sublimate.unlearn import METHODS
from sublimate.unlearn.card import SCENARIOS

SCENARIO = {
    "fashion-mini": {
        "full-class": "class:Pullover,Sneaker,Bag",
        "sub-class": "class:Sneaker@90%",
        "random": "random@10%",
    },
    "cifar10": {
        "full-class": "class:automobile,cat,truck",
        "sub-class": "class:automobile@90%",
        "random": "random@10%",
    },
}
BUDGET: dict[str, Any] = {"fashion-mini": None, "cifar10": 5000}
TRAINED = {"model": "small-cnn", "recipe": "fast", "epochs": 20, "views": "none"}
CHECKPOINT = Path(__file__).parents[2] / "shared" / "checkpoints" / "stem64_resnet8_cifar10.safetensors"
RESULTS = Path(__file__).parents[1] / "docs" / "results"
FIGURES = ("acc_dr", "acc_df", "ta", "mia", "auc", "gap", "seconds", "samples")
Row = dict[str, Any]


def declared(data: str, seeds: int, only: list[str], presets: list[Path]) -> Iterator[tuple[Row, Step]]:
    """What each row says of itself, and the step that scores it."""
    for seed in range(seeds):
        for scenario, request in SCENARIO[data].items():
            on = {"data": data, "request": request, "seed": seed}
            networks = dict(_networks(data, on, seed, scenario, presets))
            for name, step in networks.items():
                if only and name.split(" ")[0] not in only:
                    continue
                label = {"scenario": scenario, "method": name, "seed": seed}
                named = f"score {scenario} {name} {seed}"
                yield label, Step(name=named, function=does.score, parameters={"on": on}, needs=(step,))


def _networks(data: str, on: Row, seed: int, scenario: str, presets: list[Path]) -> Iterator[tuple[str, Step]]:
    where = f"{scenario} {seed}"
    original = _original(data, on, seed)
    yield "original", original
    if data != "cifar10":
        yield "retrain", _step(f"retrain {where}", does.train, on=on, seed=seed, without=True, **TRAINED)
    for name, cls in METHODS.items():
        if name in ("original", "retrain") or (scenario not in cls.scenarios):
            continue
        if cls.needs_records:
            if data != "cifar10":
                recipe = {key: TRAINED[key] for key in ("model", "recipe", "epochs")}
                yield name, _step(f"{name} {where}", does.unlearn_recorded, on=on, method=name, seed=seed, **recipe)
            continue
        for preset in ("paper", "auto") if name == "siamese" else ("auto",):
            label = f"{name} {preset}" if name == "siamese" else name
            yield label, _unlearn(f"{label} {where}", original, on, name, preset, seed, data)
    for path in presets:
        name, _, which = path.stem.partition("_")
        if which == scenario:
            yield f"{name} tuned", _unlearn(f"{name} tuned {where}", original, on, name, str(path), seed, data)


def _unlearn(label: str, original: Step, on: Row, name: str, preset: str, seed: int, data: str) -> Step:
    few = BUDGET[data] or METHODS[name].few
    parameters = {"on": on, "method": name, "preset": preset, "options": {"seed": seed}, "few": few}
    # With other defaults it is another run.
    version = json.dumps(METHODS[name]().options(), sort_keys=True)
    return Step(name=label, function=does.unlearn, parameters=parameters, needs=(original,), version=version)


def _original(data: str, on: Row, seed: int) -> Step:
    if data == "cifar10":
        path = CHECKPOINT
        return _step("original", does.given, path=str(path), digest=sha256(path))
    plain = {"data": data, "request": "", "seed": 0}  # trained on everything: the same for every request
    return _step(f"original {seed}", does.train, on=plain, seed=seed, without=False, **TRAINED)


def _step(name: str, function: Any, **parameters: Any) -> Step:
    return Step(name=name, function=function, parameters=parameters)


def gathered(rows: list[tuple[Row, Step]], store: Store) -> list[Row]:
    """The rows that are done, each with its gap to Retrain where there is one."""
    done = {step.key for step in price([step for _, step in rows], store)[0]}
    found = [label | json.loads(result(step, store)) for label, step in rows if step.key in done]
    retrained = {(row["scenario"], row["seed"]): row for row in found if row["method"] == "retrain"}
    for row in found:
        if reference := retrained.get((row["scenario"], row["seed"])):
            parts = [abs(row[f] - reference[f]) for f in ("acc_dr", "acc_df", "ta", "mia")]
            row["gap"] = sum(parts) / len(parts)
    return found


def markdown(rows: list[Row]) -> str:
    """One table per scenario: means over seeds, with the 95 % t interval."""
    lines = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        lines += [f"\n## {scenario}\n", "| method | " + " | ".join(FIGURES) + " |", "|---" * (len(FIGURES) + 1) + "|"]
        mine = [row for row in rows if row["scenario"] == scenario]
        for method in dict.fromkeys(row["method"] for row in mine):
            group = [row for row in mine if row["method"] == method]
            cells = [_cell([row[f] for row in group if row.get(f) is not None], f) for f in FIGURES]
            failed = next((row["failed"] for row in group if "failed" in row), None)
            lines.append(f"| {method}{' (failed)' if failed else ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(values: list[float], figure: str) -> str:
    if not values:
        return "–"
    digits = {"auc": 3, "samples": 0}.get(figure, 1)
    text = f"{statistics.mean(values):,.{digits}f}"
    if len(values) == 3 and figure not in ("samples", "seconds"):
        text += f" ± {4.303 * statistics.stdev(values) / math.sqrt(3):.{digits}f}"
    return text


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=sorted(SCENARIO))
    parser.add_argument("--seeds", type=int, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--render", action="store_true", help="only write what is done")
    chosen = parser.parse_args()
    assert set(SCENARIO[chosen.data]) <= set(SCENARIOS)
    store, seeds = Store(), chosen.seeds or (1 if chosen.data == "cifar10" else 3)
    presets = sorted((RESULTS / "presets" / chosen.data).glob("*.toml"))
    rows = list(declared(chosen.data, seeds, [m for m in chosen.only.split(",") if m], presets))

    def tell(now: Advance) -> None:
        if now.within is None:
            print(f"{now.done}/{now.total} {now.name}", file=sys.stderr, flush=True)

    if not chosen.render:
        ran = run([step for _, step in rows], store, progress=tell)
        for name, error in ran.failed.items():
            print(name, error, file=sys.stderr)
    found = gathered(rows, store)
    RESULTS.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, sort_keys=True) + "\n" for row in found)
    write_whole(RESULTS / f"methods-{chosen.data}.jsonl", lines.encode())
    write_whole(RESULTS / f"methods-{chosen.data}.md", markdown(found).encode())
    print(markdown(found))


if __name__ == "__main__":
    main()
