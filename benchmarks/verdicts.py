"""What the audit says at both tiers of Original, Retrain, Siamese and every approach of the paper, in three scenarios.

    python benchmarks/verdicts.py fashion-mini    # small CNN
    python benchmarks/verdicts.py cifar10         # ResNet-8, the networks of `sublimate bench --edition cpu`, seed 0

The reference of tier 2 is a second Retrain.  Runs through the plan: killed and started again it continues.
Writes docs/results/verdicts-<data>.jsonl and .md from whatever is done.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

from tables import Row, gathered, make, publish

from sublimate.bench import analysis
from sublimate.bench.experiments import find
from sublimate.bench.making import Bed, values
from sublimate.bench.planning import AUDITED
from sublimate.bench.schema import Case, Method
from sublimate.plan import Step

SCENARIOS = ("full-class", "sub-class", "random")
SMALL = {"data": "fashion-mini", "model": "small-cnn", "epochs": 20, "views": "none"}
REQUESTS = {"full-class": "class:Pullover,Sneaker,Bag", "sub-class": "class:Sneaker@90%", "random": "random@10%"}
VERSION = "3"  # to be raised when the audit judges otherwise


def declared(data: str, seed: int = 0) -> Iterator[tuple[Row, Step]]:
    """What each pair of verdicts belongs to, and the step that gives them."""
    for scenario in SCENARIOS:
        (experiment,) = find(f"{scenario}/cifar10")
        case = next(c for s in experiment.settings if (c := s.case("cpu")) and c.model == "he-resnet8")
        if data == "fashion-mini":
            case = case.model_copy(update=SMALL | {"request": REQUESTS[scenario]})
        bed = Bed(case=case, seed=seed, folder=experiment.folder)
        for method in experiment.methods:
            label = {"scenario": scenario, "method": method.label, "seed": seed}
            yield label, _examined(f"{scenario} {method.label} {seed}", bed, case, method)


def _examined(label: str, bed: Bed, case: Case, method: Method) -> Step:
    network = bed.network(values(method, case, "cpu", bed.folder))
    roles = {"network": network, "original": bed.original, "reference": bed.second}
    parameters = {role: step.name for role, step in roles.items()} | {"on": bed.on, "sample": AUDITED}
    return Step(
        name=f"verdicts {label}",
        function=analysis.examined,
        parameters=parameters | {"seed": bed.seeds["evaluate"]},
        needs=tuple(dict.fromkeys(roles.values())),
        version=VERSION,
    )


def markdown(rows: list[Row]) -> str:
    """One table per scenario."""
    lines = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        lines += [f"\n## {scenario}\n", "| network | AUC | tier 1 | tier 2 | what differs |", "|---" * 5 + "|"]
        lines += [_line(row) for row in rows if row["scenario"] == scenario]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    first, second = row["tiers"]
    area = f"{first['auc']:.3f} [{first['low']:.3f}, {first['high']:.3f}]" if first.get("auc") is not None else "–"
    telling = "; ".join(second["telling"]) or "–"
    return f"| {row['method']} | {area} | {first['verdict']} | {second['verdict']} | {telling} |"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["cifar10", "fashion-mini"])
    parser.add_argument("--render", action="store_true", help="only write what is done")
    chosen = parser.parse_args()
    name, wanted = f"verdicts-{chosen.data}", list(declared(chosen.data))
    if not chosen.render:
        make(name, wanted)
    publish(name, gathered(name, wanted, lambda tiers: [{"tiers": tiers}]), markdown)


if __name__ == "__main__":
    main()
