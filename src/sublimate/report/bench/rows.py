"""What a page tells of single rows: how each was made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...bench.results import Row

Part = dict[str, Any]


def making(rows: Sequence[Row]) -> list[Part]:
    """How every line was made: commands, values, seeds, what became of it."""
    found = []
    for label, own in labelled(rows).items():
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


def labelled(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by their label, in their order."""
    found = dict[str, list["Row"]]()
    for row in rows:
        found.setdefault(row.label, []).append(row)
    return found
