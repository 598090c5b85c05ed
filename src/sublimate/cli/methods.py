"""`sublimate methods`: every method, what it is for and what it costs; or the card of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import Device, Json, Quiet, Seed, Threads
from .ui import Ui

if TYPE_CHECKING:
    from rich.table import Table

    from ..unlearn.base import Unlearner

EXAMPLE = "sublimate methods siamese"


def run(
    name: Annotated[str | None, typer.Argument(help="One method, by name or module:Class: its whole card.")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Every method: scenarios, records it reads, extra memory, source; with a NAME, the card of that one."""
    from ..report.methods import BUDGETS
    from ..unlearn import find

    del seed, threads, device  # every command takes them, and nothing is random or computed here
    ui = Ui(json=json, quiet=quiet)
    if name is not None:
        from rich.markdown import Markdown

        from ..report.cards import card_markdown

        cls = find(name)
        ui.say(Markdown(card_markdown(cls)))
        ui.result(_facts(cls))
        return
    known = _known(ui)
    ui.say(_table(known))
    ui.result({"reference": BUDGETS, "methods": [_facts(cls) for cls in known]})


def _known(ui: Ui) -> list[type[Unlearner]]:
    """All methods; one of another package that does not work is named, and the others are shown."""
    from ..unlearn import METHODS, find, methods

    known = list(METHODS.values())
    for name in methods()[len(METHODS) :]:
        try:
            cls = find(name)
            _facts(cls)
        except Exception as error:
            ui.warn(f"The method {name} of another package does not work ({type(error).__name__}: {error}).")
        else:
            known.append(cls)
    return known


def _table(known: list[type[Unlearner]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from ..report.methods import REFERENCE, needs, passes, scenarios, short_source

    caption = (
        f"D_f, D_r: passes over forgotten and retained records (or so many of them), for {REFERENCE}, at most. "
        "Memory: floats beyond network and optimizer; P = parameters. Records: of training."
    )
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), caption=caption, caption_justify="left")
    for head, justify in (("Method", "left"), ("For", "left"), ("D_f", "right"), ("D_r", "right")):
        table.add_column(head, justify=justify, no_wrap=head != "For")  # type: ignore[arg-type]
    for head in ("Memory", "Records", "Source"):
        table.add_column(head, overflow="fold")
    for cls in known:
        cells = (cls.name, scenarios(cls), *passes(cls), cls.card.memory, needs(cls), short_source(cls))
        table.add_row(*map(Text, cells))
    return table


def _facts(cls: type[Unlearner]) -> dict[str, Any]:
    from dataclasses import asdict

    from ..report.methods import counts, summary

    return {
        "name": cls.name,
        "summary": summary(cls),
        "scenarios": list(cls.scenarios),
        "few": cls.few,
        "reads": counts(cls),
        "needs_records": cls.needs_records,
        "options": cls().options(),
        **asdict(cls.card),
    }
