"""What a page tells of single classes: accuracy on each, and what forgotten ones are taken for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Protocol

Part = dict[str, Any]
CONFUSED = 3  # classes that a forgotten one is taken for most often


class Seen(Protocol):
    """A network that was looked at class by class."""

    @property
    def classes(self) -> Mapping[str, float | None]:
        """Accuracy on each class."""

    @property
    def confusion(self) -> Mapping[str, Mapping[str, float | None]]:
        """What records of each forgotten class are taken for, in percent."""


Labelled = Mapping[str, Sequence[Seen]]


def by_class(rows: Labelled) -> Part | None:
    """Accuracy of every line on every class, means over seeds; the forgotten classes first."""
    labels = [label for label, own in rows.items() if any(row.classes for row in own)]
    names = list(dict.fromkeys(name for row in _all(rows) for name in row.classes))
    if not labels or not names:
        return None
    gone = {name for row in _all(rows) for name in row.confusion}
    means = {label: _means(row.classes for row in own) for label, own in rows.items()}
    ordered = sorted(names, key=lambda name: name not in gone)
    lines = [(name, name in gone, [means[label].get(name) for label in labels]) for name in ordered]
    return {"labels": labels, "lines": lines}


def confusion(rows: Labelled) -> Part | None:
    """What the forgotten classes are taken for, by line: the most frequent answers, means over seeds."""
    gone = list(dict.fromkeys(name for row in _all(rows) for name in row.confusion))
    if not gone:
        return None
    lines = []
    for label, own in rows.items():
        if not any(row.confusion for row in own):
            continue
        taken = [_shares([row.confusion[name] for row in own if name in row.confusion]) for name in gone]
        lines.append((label, [sorted(means.items(), key=lambda pair: -pair[1])[:CONFUSED] for means in taken]))
    return {"classes": gone, "lines": lines}


def _all(rows: Labelled) -> Iterator[Seen]:
    return (row for own in rows.values() for row in own)


def _shares(tables: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Mean of every share over all tables: an answer that a table does not name was not given there."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: sum(table.get(name) or 0.0 for table in tables) / len(tables) for name in names}


def _means(tables: Iterable[Mapping[str, float | None]]) -> dict[str, float]:
    """Mean of every entry over the tables that have it."""
    values = dict[str, list[float]]()
    for table in tables:
        for name, value in table.items():
            if value is not None:
                values.setdefault(name, []).append(value)
    return {name: fmean(found) for name, found in values.items()}
