"""How many small faults in the audit's statistics do their fast tests notice?

    python -m venv ../mutation && ../mutation/bin/pip install -c constraints.txt -e '.[dev]' mutmut==3.8.0
    ../mutation/bin/pip install pytest==9.0.2      # mutmut 3.8.0 does not run with pytest 9.2
    ../mutation/bin/python benchmarks/mutation.py

Mutmut (3.8.0; Python 3.11, pytest 9.0.2, torch 2.13.0) changes one operator, constant, argument, keyword or string
at a time in a copy of the package and runs the tests of that module.  Prints the score, killed / all, and a diff of
every mutant that survived; the exit code is 1 below the target.  About eight minutes on one core.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
MODULES = ("intervals", "statistics", "proportions", "epsilon", "signals", "distances", "chance")
TARGET = 85.0
CONFIGURATION = """
[tool.mutmut]
source_paths = ["src/"]
only_mutate = [{sources}]
pytest_add_cli_args_test_selection = [{tests}]
pytest_add_cli_args = ["-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
"""


def workshop(folder: Path) -> None:
    """A copy of the package, its settings and the tests that count."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests" / "audits").mkdir(parents=True)
    for name in MODULES:
        shutil.copy(ROOT / "tests" / "audits" / f"test_{name}.py", folder / "tests" / "audits")
    quoted = {
        "sources": ", ".join(f'"src/sublimate/audits/{name}.py"' for name in MODULES),
        "tests": ", ".join(f'"tests/audits/test_{name}.py"' for name in MODULES),
    }
    settings = (ROOT / "pyproject.toml").read_text() + CONFIGURATION.format(**quoted)
    (folder / "pyproject.toml").write_text(settings)


def mutmut(folder: Path, *arguments: str, quiet: bool = True) -> str:
    """Run the tool on one core."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        check=True,
    )
    return done.stdout or ""


def main() -> int:
    """Print the score and the survivors."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        workshop(folder)
        mutmut(folder, "run", "--max-children", "1", quiet=False)
        rows = [line.strip().rsplit(": ", 1) for line in mutmut(folder, "results", "--all", "true").splitlines()]
        counts = Counter(status for _, status in rows)
        for mutant, status in rows:
            if status != "killed":
                print(f"\n{status}: {mutant}\n{mutmut(folder, 'show', mutant)}")
    score = 100 * (counts["killed"] + counts["timeout"]) / counts.total()
    print(f"{score:.1f} % of {counts.total()} mutants noticed: {dict(counts)}")
    return 0 if score >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
