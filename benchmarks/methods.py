"""Every method on three scenarios, at its defaults, beside Retrain.

    python benchmarks/methods.py fashion-mini          # small CNN, three seeds, our originals and Retrain
    python benchmarks/methods.py cifar10               # a public ResNet-8, retain budget 5,000, no Retrain
    python benchmarks/methods.py cifar10-records       # a public ResNet-20: a random tenth, and a hundred named records
    python benchmarks/methods.py cifar10-lists         # siamese-matched on four more lists of a hundred records

Runs through the plan: killed and started again it continues, and two processes share the work.
Writes docs/results/methods-<table>.jsonl and .md from whatever is done.
"""

from __future__ import annotations

import json
import math
import statistics
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from tables import RESULTS, Row, gathered, make, publish

from sublimate import training
from sublimate.audits import evaluation
from sublimate.bench import analysis
from sublimate.bench import steps as does
from sublimate.files import sha256
from sublimate.plan import Step
from sublimate.unlearn import METHODS
from sublimate.unlearn.auto import RULES
from sublimate.unlearn.presets import read_preset

CHECKPOINTS = Path(__file__).parents[2] / "shared" / "checkpoints"
TRAINED = {"model": "small-cnn", "recipe": "fast", "epochs": 20, "views": "none"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Requests on one network: a public one, or (with Retrain) one of ours per seed."""

    data: str
    requests: dict[str, str]  # by scenario; a word after it tells several apart
    methods: tuple[str, ...] = tuple(METHODS)
    public: str | None = None
    few: int | None = None  # retain budget; None: each method's own
    seeds: int = 1


def listed(draw: int) -> str:
    """A hundred records of CIFAR-10."""
    return "id:" + ",".join(map(str, sorted(Random(draw).sample(range(50_000), 100))))


TABLES = {
    "fashion-mini": Table(
        data="fashion-mini",
        requests={
            "full-class": "class:Pullover,Sneaker,Bag",
            "sub-class": "class:Sneaker@90%",
            "random": "random@10%",
        },
        seeds=3,
    ),
    "cifar10": Table(
        data="cifar10",
        requests={
            "full-class": "class:automobile,cat,truck",
            "sub-class": "class:automobile@90%",
            "random": "random@10%",
        },
        public="stem64_resnet8_cifar10",
        few=5000,
    ),
    "cifar10-records": Table(
        data="cifar10",
        requests={"random": "random@10%", "records": listed(0)},
        public="he_resnet20_cifar10",
        few=5000,
    ),
    "cifar10-lists": Table(
        data="cifar10",
        requests={f"records {draw}": listed(draw) for draw in range(4, 8)},
        methods=("siamese-matched",),
        public="he_resnet20_cifar10",
    ),
}
TOLD = ("samples", "seconds", "stopped", "choices", "warnings", "failed")  # of a run
FIGURES = ("acc_dr", "acc_df", "ta", "ta_dr", "mia", "auc", "gap", "seconds", "samples")


def declared(name: str, only: list[str], presets: list[Path]) -> Iterator[tuple[Row, Step]]:
    """What each row says of itself, and the step that scores it."""
    table = TABLES[name]
    for seed in range(table.seeds):
        for scenario, request in table.requests.items():
            on = {"data": table.data, "request": request, "seed": seed}
            for method, step in _networks(table, on, scenario, presets):
                if only and method.split(" ")[0] not in only:
                    continue
                label = {"scenario": scenario, "method": method, "seed": seed}
                named = f"score {scenario} {method} {seed}"
                # All that is retained: the figures do not depend on it.
                yield label, replace(_step(named, analysis.look, on=on, few="all"), needs=(step,))


def _networks(table: Table, on: Row, scenario: str, presets: list[Path]) -> Iterator[tuple[str, Step]]:
    seed, where = on["seed"], f"{scenario} {on['seed']}"
    original = _original(table, seed)
    yield "original", original
    if not table.public:
        yield "retrain", _step(f"retrain {where}", does.train, on=on, seed=seed, without=True, **TRAINED)
    for name in table.methods:
        cls = METHODS[name]
        if name in ("original", "retrain") or scenario.split()[0] not in cls.scenarios:
            continue
        if cls.needs_records:
            if not table.public:
                yield name, _recorded(f"{name} {where}", on, name)
            continue
        for preset in ("paper", "auto") if name == "siamese" else ("auto",):
            label = f"{name} {preset}" if name == "siamese" else name
            yield label, _unlearn(f"{label} {where}", original, on, name, preset, table.few)
    if table.few and "records" in table.requests:
        label = "siamese-matched all"
        yield label, _unlearn(f"{label} {where}", original, on, "siamese-matched", "auto", None)
    for path in presets:
        name, _, which = path.stem.partition("_")
        if which == scenario:
            # The values of the file, not its path: the key of a step must not depend on where a file lies.
            tuned, preset = read_preset(path, name), "paper" if name == "siamese" else "auto"
            if METHODS[name].needs_records:
                yield f"{name} tuned", _recorded(f"{name} tuned {where}", on, name, options=tuned)
                continue
            yield f"{name} tuned", _unlearn(f"{name} tuned {where}", original, on, name, preset, table.few, tuned)


def _recorded(label: str, on: Row, name: str, **options: Row) -> Step:
    recipe = {key: TRAINED[key] for key in ("model", "recipe", "epochs")}
    return _step(label, does.unlearn_recorded, on=on, method=name, seed=on["seed"], **recipe, **options)


def _unlearn(
    label: str, original: Step, on: Row, name: str, preset: str, few: int | None, options: Row | None = None
) -> Step:
    parameters = {
        "on": on,
        "method": name,
        "preset": preset,
        "options": {"seed": on["seed"]} | (options or {}),
        "few": few or METHODS[name].few,
    }
    version = json.dumps(METHODS[name]().options(), sort_keys=True)  # with other defaults it is another run
    version += METHODS[name].revision + (RULES if name == "siamese" and preset == "auto" else "")
    return Step(name=label, function=does.unlearn, parameters=parameters, needs=(original,), version=version)


def _original(table: Table, seed: int) -> Step:
    if table.public:
        path = CHECKPOINTS / f"{table.public}.safetensors"
        return replace(_step("original", does.given, digest=sha256(path)), hints={"path": str(path)})
    plain = {"data": table.data, "request": "", "seed": 0}  # trained on everything: the same for every request
    return _step(f"original {seed}", does.train, on=plain, seed=seed, without=False, **TRAINED)


def _step(name: str, function: Any, **parameters: Any) -> Step:
    version = _raised(_revisions(function, parameters.get("method")))
    return Step(name=name, function=function, parameters=parameters, version=version)


def _revisions(function: Any, method: str | None) -> dict[str, str]:
    """Of the code behind a step."""
    if function is analysis.look:
        return {"evaluation": evaluation.REVISION, "analysis": analysis.REVISION}
    if function is does.given:
        return {}
    return {"training": training.REVISION, "method": METHODS[method].revision if method else ""}


def _raised(revisions: dict[str, str]) -> str:
    """The revisions that are not the first: published rows were made when all were, and keep their keys."""
    return ", ".join(["1", *(f"{of} {revision}" for of, revision in revisions.items() if revision not in ("", "1"))])


def told(look: Row) -> list[Row]:
    """The row of one network."""
    return [
        {"split": look["split"]} | look["figures"] | {name: look["run"][name] for name in TOLD if name in look["run"]}
    ]


def compared(rows: list[Row]) -> list[Row]:
    """The rows, each with its gap to Retrain where there is one."""
    retrained = {(row["scenario"], row["seed"]): row for row in rows if row["method"] == "retrain"}
    for row in rows:
        if reference := retrained.get((row["scenario"], row["seed"])):
            parts = [abs(row[f] - reference[f]) for f in ("acc_dr", "acc_df", "ta", "mia")]
            row["gap"] = sum(parts) / len(parts)
    return rows


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
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--only", default="", help="methods, with commas between")
    parser.add_argument("--render", action="store_true", help="only write what is done")
    chosen = parser.parse_args()
    presets = sorted((RESULTS / "presets" / chosen.table).glob("*.toml"))
    name, only = f"methods-{chosen.table}", [m for m in chosen.only.split(",") if m]
    if not chosen.render:
        make(name, declared(chosen.table, only, presets))
    publish(name, compared(gathered(name, declared(chosen.table, [], presets), told)), markdown)


if __name__ == "__main__":
    main()
