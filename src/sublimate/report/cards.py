"""Method cards, written from the classes alone: `python -m sublimate.report.cards docs/methods`."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..files import make_folder, write_whole
from ..unlearn import METHODS
from ..unlearn.base import Unlearner
from .markdown import code, escape, table, value
from .methods import REFERENCE, in_words, needs, passes, scenarios, short_source, summary

_PLAIN = (int, float, str, bool)


def card_markdown(cls: type[Unlearner]) -> str:
    """The card of one method."""
    card = cls.card
    parts = [
        f"# {escape(card.title)}",
        f"{code(cls.name)}: {escape(summary(cls))}",
        f"```text\n{card.formula}\n```",
        table(("what", "is"), _facts(cls)),
        "## Options",
        "`--preset paper` takes the authors' value where one stands, ours elsewhere.",
        table(("option", "type", "default", "authors"), _options(cls)),
        escape(card.values),
        *_listed("Pitfalls", card.pitfalls),
        *_listed("Where it differs from the authors' public code", card.deviations),
        "## Source",
        _linked(escape(card.source)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def index_markdown(methods: Iterable[type[Unlearner]]) -> str:
    """The page that leads to all cards."""
    about = (
        f"D_f, D_r: passes over the forgotten and the retained records (or so many of them) for {REFERENCE}, with the "
        "default options, at most. Memory: floats beyond network and optimizer; P is the number of parameters.\n\n"
        "`sublimate methods` prints the same table, `sublimate methods siamese` one card. These pages are written from "
        "the code by `make cards`."
    )
    rows = [
        (
            f"[{cls.name}]({cls.name}.md)",
            *map(escape, (scenarios(cls), *passes(cls), cls.card.memory, needs(cls), short_source(cls))),
        )
        for cls in methods
    ]
    return f"# Methods\n\n{about}\n\n{table(('method', 'for', 'D_f', 'D_r', 'memory', 'records', 'source'), rows)}\n"


def write_cards(folder: Path, methods: Sequence[type[Unlearner]]) -> None:
    """A page for each method, and one that leads to them."""
    make_folder(folder)
    pages = {cls.name: card_markdown(cls) for cls in methods} | {"README": index_markdown(methods)}
    for name, text in pages.items():
        write_whole(folder / f"{name}.md", text.encode())


def kind(hint: Any) -> str:
    """A type in words.

    >>> kind(float | None), kind(Literal["eval", "train"]), kind(tuple[int, ...])
    ('float or none', '`eval`, `train`', 'tuple of int')
    """
    inner = [part for part in get_args(hint) if part is not ...]
    if get_origin(hint) is Literal:
        return ", ".join(map(value, inner))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(kind, inner))
    if get_origin(hint) in (tuple, list):
        return f"{get_origin(hint).__name__} of {', '.join(dict.fromkeys(map(kind, inner)))}"
    return "none" if hint is type(None) else hint.__name__ if hint in _PLAIN else "function"


def _facts(cls: type[Unlearner]) -> list[tuple[str, str]]:
    facts = {
        "for": ", ".join(cls.scenarios),
        f"reads at most, for {REFERENCE}": in_words(cls),
        "retained records it asks for": "all" if cls.few == "all" else f"{cls.few:,}",
        "memory beyond network and optimizer, in floats": cls.card.memory,
        "starts from": "random weights" if cls.anew else "the original",
        "records of training": needs(cls),
    }
    return [(escape(name), escape(text)) for name, text in facts.items()]


def _options(cls: type[Unlearner]) -> list[tuple[str, str, str, str]]:
    hints, ours, authors = get_type_hints(cls), cls().options(), cls.card.authors
    common = {field.name for field in fields(Unlearner)}
    return [
        (code(name), kind(hints[name]), value(ours[name]), value(authors[name]) if name in authors else "")
        for name in sorted(ours, key=common.__contains__)  # its own ones first
    ]


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    items = "\n".join(f"- {escape(line)}" for line in lines)
    return [f"## {title}", items] if items else []


def _linked(text: str) -> str:
    return re.sub(r"arXiv[ :](\d{4}\.\d{4,5})", r"[arXiv \1](https://arxiv.org/abs/\1)", text)


if __name__ == "__main__":
    write_cards(Path(sys.argv[1]), list(METHODS.values()))
