"""Markdown that shows a text as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

# What Markdown could take for its own; a `_` inside a word is safe, and so are most signs inside a line.
_SPECIAL = re.compile(r"[\\*\[\]<~|`!]|(?<!\w)_|_(?!\w)|&(?=[#\w])|^[#>+=-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")


def escape(text: str) -> str:
    r"""The text as one line; what stands in backticks stays code.

    >>> escape("x*y, |x| and `x*y`, L_KC")
    'x\\*y, \\|x\\| and `x*y`, L_KC'
    """
    pieces = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(code(piece[1:-1]) if place % 2 else _escaped(piece) for place, piece in enumerate(pieces))


def code(text: str) -> str:
    r"""The text as code, also in a table.

    >>> code("int | None")
    '`int \\| None`'
    """
    return "`" + text.replace("`", "'").replace("|", r"\|") + "`"


def value(plain: object) -> str:
    """A plain value as code.

    >>> value(1e-4), value(True), value("eval"), value(None)
    ('`0.0001`', '`true`', '`eval`', '`none`')
    """
    return code("none" if plain is None else plain if isinstance(plain, str) else json.dumps(plain, default=str))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already.

    >>> print(table(("a", "b"), [("1", "2")]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(piece: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", piece)
