"""Curves of several seeds on the same epochs: a run that has ended stays where it ended."""

from __future__ import annotations

from collections.abc import Iterable

from .results import Row

Curve = dict[float, Row]  # by epoch


def carried(rows: Iterable[Row]) -> list[Row]:
    """The rows of one setting; a seed whose run ended before another's has its last point at later epochs too."""
    plain, labels = list[Row](), dict[str, dict[int, Curve]]()
    for row in rows:
        if row.epoch is None:
            plain.append(row)
        else:
            labels.setdefault(row.label, {}).setdefault(row.seed, {})[row.epoch] = row
    return plain + [row for curves in labels.values() for row in _together(list(curves.values()))]


def _together(curves: list[Curve]) -> list[Row]:
    """Every curve at the epochs at which each has a point or has ended: means then are over all of them."""
    epochs = sorted({epoch for curve in curves for epoch in curve})
    shared = [epoch for epoch in epochs if all(epoch in curve or max(curve) <= epoch for curve in curves)]
    return [_at(curve, epoch) for epoch in shared for curve in curves]


def _at(curve: Curve, epoch: float) -> Row:
    return curve[epoch] if epoch in curve else curve[max(curve)].model_copy(update={"epoch": epoch})
