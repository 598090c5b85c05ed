"""Can the audit be fooled, and does it see what is there?  On networks that learn by heart.

    python benchmarks/assurance.py digits --seeds 20
    python benchmarks/assurance.py cifar --seeds 5     # 10,000 records of CIFAR-10

Each seed: an original, a Retrain, a second Retrain as reference, and every sabotage of the zoo.  Runs through the plan:
killed and started again it continues.  Writes docs/results/assurance-<problem>.jsonl and .md from whatever is done.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from sublimate.bench.assurance import verdicts
from sublimate.bench.memorised import PROBLEMS
from sublimate.files import write_whole
from sublimate.plan import Step, price, result, run
from sublimate.store import Store

RESULTS = Path(__file__).parents[1] / "docs" / "results"
VERDICTS = ("PASS", "FAIL", "INCONCLUSIVE", "REFUSED")
VERSION = "2"  # to be raised when the audit judges otherwise


def steps(problem: str, seeds: int) -> list[Step]:
    """One per seed and request."""
    return [
        Step(
            name=f"{problem} {request} {seed}",
            function=verdicts,
            parameters={"problem": problem, "request": request, "seed": seed},
            version=VERSION,
        )
        for seed in range(seeds)
        for request in PROBLEMS[problem].requests
    ]


def markdown(rows: list[dict[str, Any]]) -> str:
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
    parser.add_argument("--render", action="store_true", help="only write what is done")
    chosen = parser.parse_args()
    store, wanted = Store(), steps(chosen.problem, chosen.seeds)
    if not chosen.render:
        ran = run(wanted, store)
        for name, error in ran.failed.items():
            print(name, error, file=sys.stderr)
    done = price(wanted, store)[0]
    rows = [row for step in done for row in json.loads(result(step, store))]
    RESULTS.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n" for row in rows)
    write_whole(RESULTS / f"assurance-{chosen.problem}.jsonl", lines.encode())
    write_whole(RESULTS / f"assurance-{chosen.problem}.md", markdown(rows).encode())
    print(markdown(rows))


if __name__ == "__main__":
    main()
