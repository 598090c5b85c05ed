"""Can the audit be fooled, and does it see what is there?  On networks that learn by heart.

    python benchmarks/assurance.py digits --seeds 10                  # two requests each
    python benchmarks/assurance.py cifar --seeds 10 --sabotaged 1     # 10,000 records of CIFAR-10

Each seed: an original, a Retrain, two more Retrains as references; the first seeds also every sabotage of the zoo.
Runs through the plan: killed and started again it continues.  Writes docs/results/assurance-<problem>.jsonl and .md
from what is done.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter

from tables import Row, gathered, make, publish

from sublimate.audits.auditing import REVISION
from sublimate.bench.assurance import verdicts
from sublimate.bench.memorised import PROBLEMS
from sublimate.plan import Step

VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE", "REFUSED")
VERSION = f"audit {REVISION}"


def declared(problem: str, seeds: int, sabotaged: int | None = None) -> list[tuple[Row, Step]]:
    """One step per seed and request; its rows say all of themselves."""
    return [
        (
            {},
            Step(
                name=f"{problem} {request} {seed}",
                function=verdicts,
                parameters={"problem": problem, "request": request, "seed": seed}
                | ({} if sabotaged is None or seed < sabotaged else {"sabotaged": False}),
                version=VERSION,
            ),
        )
        for seed in range(seeds)
        for request in PROBLEMS[problem].requests
    ]


def markdown(rows: list[Row]) -> str:
    """Verdicts by network and tier."""
    counts = Counter((row["network"], row["tier"], row["verdict"]) for row in rows)
    lines = ["| network | tier | " + " | ".join(VERDICTS) + " |", "|---" * (len(VERDICTS) + 2) + "|"]
    for network, tier in dict.fromkeys((row["network"], row["tier"]) for row in rows):
        cells = " | ".join(str(counts[network, tier, verdict] or "") for verdict in VERDICTS)
        lines.append(f"| {network} | {tier} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=sorted(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sabotaged", type=int, help="seeds with the zoo; all of them when not given")
    parser.add_argument("--render", action="store_true", help="only write what is done")
    chosen = parser.parse_args()
    name, wanted = f"assurance-{chosen.problem}", declared(chosen.problem, chosen.seeds, chosen.sabotaged)
    if not chosen.render:
        make(name, wanted)
    publish(name, gathered(name, wanted, list), markdown)


if __name__ == "__main__":
    main()
