"""Rows from what the steps gave: a pure function of the plan and the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..audits.distances import tow
from ..audits.evaluation import Scores
from .planning import Planned
from .results import Audited, Points, Row, Timing

SCORES = tuple(asdict(Scores()))
Found = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What one planned row became."""

    rows: tuple[Row, ...] = ()
    timings: tuple[Timing, ...] = ()
    points: tuple[Points, ...] = ()


def filled(planned: Planned, found: Found) -> Filled:
    """The row, from results by the name of their step; nothing while the step that it rests on has none."""
    given = {part: found[step.name] for part, step in planned.steps.items() if step.name in found}
    if all(step.name in found for step in planned.all_steps):
        planned = replace(planned, row={**planned.row, "key": planned.key})
    if "look" in given:
        reference = found.get(planned.reference.name) if planned.reference else None
        run = given["look"]["run"]
        return Filled(rows=(_scores(planned, given, reference),), timings=_timings(planned, run))
    if "curve" in given:
        return Filled(rows=_curve(planned, given["curve"]))
    if "kl" in given:
        return Filled(rows=(_row(planned, given["kl"]),))
    return _map(planned, given["tsne"]) if "tsne" in given else Filled()


def _scores(planned: Planned, given: Found, reference: Found | None) -> Row:
    look, audit = given["look"], given.get("audit")
    figures = look["figures"] | _distance(planned, given) | _reads(planned, look)
    return _row(
        planned,
        look | {"figures": figures},
        **({} if reference is None else gaps(figures, reference["figures"])),
        classes=look["classes"],
        confusion=look["confusion"],
        audit=Audited(**audit | {"reasons": tuple(audit["reasons"])}) if audit else None,
    )


def _row(planned: Planned, found: Found, **more: Any) -> Row:
    known = {name: found[name] for name in ("split", "versions", "n", "device")}
    made = _made(found["run"], planned.row["options"])
    return Row(**dict(planned.row) | known | {"figures": found.get("figures", {})} | made | more)


def _made(run: Found, declared: Found) -> dict[str, Any]:
    """How the network came about: all values of the method, or the recipe; and what was chosen beside them."""
    options = run.get("options") or run.get("recipe") or declared
    options = {name: value for name, value in options.items() if name not in ("seed", "timing")}
    choices = {name: value for name, value in run.get("choices", {}).items() if name != "preset"}
    told = {name: value for name, value in choices.items() if options.get(name) != value}
    return {"options": options, "choices": told, "failed": run.get("failed"), "stopped": run.get("stopped")}


def gaps(own: Found, retrain: Found) -> dict[str, Any]:
    """Own minus Retrain's, figure by figure; the mean distance; and the tug of war.

    >>> gaps({"acc_dr": 99.0, "acc_df": 10.0, "ta": 90.0, "mia": 5.0}, {"acc_dr": 100.0, "acc_df": 0.0, "ta": 90.0,
    ...      "mia": 6.0})["average_gap"]
    3.0
    """
    mine, theirs = (Scores(**{name: figures.get(name) for name in SCORES}) for figures in (own, retrain))
    gap = {name: None if value is None else round(value, 6) for name, value in mine.gap(theirs).items()}
    tests = ("ta",) if gap["ta_dr"] is None or gap["ta_df"] is None else ("ta_dr", "ta_df")
    sizes = [gap[name] for name in ("acc_dr", "acc_df", *tests, "mia")]
    whole = [abs(size) for size in sizes if size is not None]
    won = tow(mine, theirs)
    return {
        "gap": gap,
        "average_gap": round(sum(whole) / len(whole), 6) if len(whole) == len(sizes) else None,
        "tow": None if won is None else round(won, 6),
    }


def _distance(planned: Planned, given: Found) -> dict[str, float | None]:
    if planned.row["method"] == "retrain":
        return {"js": 0.0}
    return {"js": given["beside"]["js"] if "beside" in given else None}


def _reads(planned: Planned, look: Found) -> dict[str, int | None]:
    """Images that the method read; `samples` counts those of a probe too."""
    run, method = look["run"], planned.row["method"]
    if method == "original":
        return {"read_forget": 0, "read_retain": 0, "samples": 0}
    if planned.epochs is not None:
        whole = planned.epochs * int(look["n"]["retain"])
        return {"read_forget": 0, "read_retain": whole, "samples": whole}
    if "read" not in run:  # it failed
        return {"read_forget": None, "read_retain": None, "samples": None}
    read = {f"read_{part}": run["read"].get(part, 0) for part in ("forget", "retain")}
    return read | {"samples": run["samples"]}


def _timings(planned: Planned, run: Found) -> tuple[Timing, ...]:
    timing = run.get("timing") or run.get("recipe", {}).get("timing")
    if not timing or planned.row["method"] == "original":
        return ()
    return (Timing(**_where(planned, Timing), **timing),)


def _where(planned: Planned, kind: type[Timing] | type[Points]) -> dict[str, Any]:
    return {name: planned.row[name] for name in kind.model_fields if name in planned.row}


def _curve(planned: Planned, found: Found) -> tuple[Row, ...]:
    whole = [{"epoch": float(planned.epochs or 0), "figures": found.get("figures")}]  # of Original and Retrain
    *points, last = found.get("points", whole)
    under_way = {"failed": None, "stopped": None}
    before = (_row(planned, found | point, epoch=point["epoch"], **under_way) for point in points)
    return (*before, _row(planned, found | last, epoch=last["epoch"]))


def _map(planned: Planned, found: Found) -> Filled:
    points = tuple((float(x), float(y), group, record) for x, y, group, record in found["points"])
    return Filled(rows=(_row(planned, found),), points=(Points(**_where(planned, Points), points=points),))
