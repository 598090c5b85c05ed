"""What a page tells of single rows: accuracy by class, confusion of forgotten classes, how each was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...bench.results import Row

Part = dict[str, Any]
CONFUSED = 3  # classes that a forgotten one is taken for most often


def by_class(rows: Sequence[Row]) -> Part | None:
    """Accuracy of every line on every class, means over seeds; the forgotten classes first."""
    labels = [label for label, own in _labelled(rows).items() if any(row.classes for row in own)]
    names = list(dict.fromkeys(name for row in rows for name in row.classes))
    if not labels or not names:
        return None
    gone = {name for row in rows for name in row.confusion}
    means = {label: _means(row.classes for row in own) for label, own in _labelled(rows).items()}
    ordered = sorted(names, key=lambda name: name not in gone)
    lines = [(name, name in gone, [means[label].get(name) for label in labels]) for name in ordered]
    return {"labels": labels, "lines": lines}


def confusion(rows: Sequence[Row]) -> Part | None:
    """What the forgotten classes are taken for, by line: the most frequent answers, means over seeds."""
    gone = list(dict.fromkeys(name for row in rows for name in row.confusion))
    if not gone:
        return None
    lines = []
    for label, own in _labelled(rows).items():
        if not any(row.confusion for row in own):
            continue
        taken = [_shares([row.confusion[name] for row in own if name in row.confusion]) for name in gone]
        lines.append((label, [sorted(means.items(), key=lambda pair: -pair[1])[:CONFUSED] for means in taken]))
    return {"classes": gone, "lines": lines}


def making(rows: Sequence[Row]) -> list[Part]:
    """How every line was made: commands, values, seeds, what became of it."""
    found = []
    for label, own in _labelled(rows).items():
        first, runs = own[0], list({row.command: row for row in own}.values())
        facts = [_facts(row) for row in runs]
        alike = {name for name in facts[0] if all(name in one and one[name] == facts[0][name] for one in facts)}
        found.append(
            {
                "label": label,
                "facts": {name: value for name, value in facts[0].items() if name in alike},
                "runs": [
                    (row, {name: value for name, value in one.items() if name not in alike})
                    for row, one in zip(runs, facts, strict=True)
                ],
                "n": first.n,
                "failed": sum(row.failed is not None for row in own),
            }
        )
    return found


def _facts(row: Row) -> Part:
    facts = {"method": row.method, "preset": row.preset, "retained records": row.few} | dict(row.options)
    facts |= {f"{name} (found on the way)": value for name, value in row.choices.items() if name != "probe"}
    return {name: short(value) for name, value in facts.items() if value is not None}


def short(value: object) -> object:
    """A number with at most six digits that count; anything else as it is.

    >>> short(1.0666666666666667), short(0.00012345678), short([0.1 + 0.2, True]), short(7)
    ('1.06667', '0.000123457', ['0.3', True], 7)
    """
    if isinstance(value, list | tuple):
        return [short(one) for one in value]
    return f"{value:.6g}" if isinstance(value, float) else value


def _labelled(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found = dict[str, list["Row"]]()
    for row in rows:
        found.setdefault(row.label, []).append(row)
    return found


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
