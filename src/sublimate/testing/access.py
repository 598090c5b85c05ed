"""Declared access is observed access: a method reads what it says, and never what judges it."""

from __future__ import annotations

from ..splits import Split
from ..unlearn.base import Outcome
from .case import Case, chosen, guarding, problem, run
from .world import Watch


def check_samples(case: Case, outcome: Outcome, rows: Split) -> None:
    """What the run counted is what `reads` declares."""
    declared = case.method().reads(len(rows.forget), len(rows.few))
    case.owes(set(declared) <= {"forget", "retain"}, f"reads() names other parts than forget and retain: {declared}.")
    case.owes(all(n > 0 for n in declared.values()), f"reads() names a part that is not read: {declared}.")
    found = outcome.record.samples
    if case.stops_early:
        fits = set(found) <= set(declared) and all(found[part] <= declared[part] for part in found)
    else:
        fits = found == declared
    sizes = f"{len(rows.forget)} forgotten and {len(rows.few)} retained records"
    case.owes(fits, f"for {sizes} reads() declares {declared}, but the run read {found}.")


def check_access(case: Case) -> None:
    """Every row that the reader gave out is accounted for.

    Beside its batches a run reads one row per part (does the network take it?), D_f twice to see the effect, and
    `val` for the guard.  Whoever judges on the way may read D_f and `val` again, through `predict`.
    """
    toy = problem()
    watch = Watch(toy.data)
    rows = chosen(case, toy, data=watch.data)
    outcome = run(case, toy, rows=rows)
    check_samples(case, outcome, rows)
    val = rows.val.tolist() if guarding(case, rows) else []
    parts = {"forget": rows.forget.tolist(), "retain": rows.few.tolist(), "val": val}
    allowed = {row for part in parts.values() for row in part}
    foreign = sorted((set(watch.batched) | set(watch.judged)) - allowed)
    case.owes(not foreign, f"rows {foreign[:5]} were read, which are test rows or were not given to the method.")
    for part, its_rows in parts.items():
        counted = outcome.record.samples.get(part, 0)
        seen = sum(watch.batched[row] for row in its_rows) - bool(its_rows)  # one row, to see whether the network runs
        hint = "use job.batches (and job.forget.first where only the shape matters)"
        case.owes(seen == counted, f"{seen} rows of {part} were read, {counted} were counted: {hint}.")
    _check_judged(case, watch, parts)


def _check_judged(case: Case, watch: Watch, parts: dict[str, list[int]]) -> None:
    judged = {part: sum(watch.judged[row] for row in rows) for part, rows in parts.items()}
    case.owes(judged["retain"] == 0, "retained records were read by predict, uncounted: use job.batches.")
    own = 2 * len(parts["forget"]) if case.cls.changes else 0
    fits = judged["forget"] >= own if case.judges else judged["forget"] == own
    case.owes(fits, "forgotten records were read by predict, uncounted: use job.batches (or say judges=True).")
