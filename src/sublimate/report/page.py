"""One self-contained page: what was asked, what came out, what it means, how it was made."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any, assert_never

from ..audits.evaluation import MEANING
from ..errors import SublimateError
from ..files import AnyPath, write_whole
from ..request import FullClass, RandomFraction, Records, SubClass, parse
from .audit.charts import audit_charts
from .audit.page import section
from .classes import by_class, confusion
from .figures import charts
from .rows import Row, Story
from .tables import count, duration, erased, figure, gap, kind, percent, reference, shown, signed

if TYPE_CHECKING:
    from jinja2 import Template


def write_page(story: Story, path: AnyPath) -> None:
    """Write the page as one file that needs nothing else, neither network nor other files."""
    write_whole(path, render(story).encode("utf-8", "replace"))  # file names may hold what is no text


def render(story: Story) -> str:
    """The page as HTML, a pure function of the story.

    >>> render(Story(title="Tom & Co", request="id:7", data="d", model="m", split="f", counts={}, rows=[]))[:15]
    '<!doctype html>'
    """
    from plotly.offline import get_plotlyjs

    each = {row.name: [row] for row in story.rows}
    evidence = audit_charts(story.audit) if story.audit else []
    drawings = [*evidence, *charts(story)]
    return find_template("page.html.j2").render(
        story=story,
        summary=summary(story),
        goal=reference(story),
        figures=[(key, *MEANING[key]) for key in shown(story)],
        networks=_networks(story),
        marked=bool(_least(story)),
        settings=[{"name": story.model, "classes": by_class(each), "confusion": confusion(each)}],
        timed=any(row.seconds is not None for row in story.rows),
        counted=any(row.samples is not None for row in story.rows),
        audit=section(story.audit) if story.audit else None,
        audit_charts=len(evidence),
        charts=drawings,
        drawn=[{"data": chart.data, "layout": chart.layout} for chart in drawings],
        plotly=get_plotlyjs(),
        version=metadata.version("sublimate"),
    )


def find_template(name: str) -> Template:
    """A template of this package, in which everything that is filled in is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    here = resources.files(__package__)
    loader = FunctionLoader(lambda name: here.joinpath(name).read_text("utf-8"))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(count=count, duration=duration, sha256=_sha256)
    return environment.get_template(name)


def summary(story: Story) -> str:
    """What was asked, of which network, and how near the best erased network came, in one sentence."""
    asked = f"The network {story.model}, trained on {story.data}, was to forget {in_words(story.request)}"
    if (records := story.counts.get("forget")) is not None:
        asked += f" ({count(records)} training record{'' if records == 1 else 's'})"
    if story.audit and not story.rows:
        return f"{asked}; an audit compared these records with records that it never saw."
    goal = reference(story)
    if goal is None:
        return f"{asked}; no retrained network is given here to measure the result against."
    compared = [(row, gaps) for row in erased(story) if (gaps := _gaps(story, row))]
    if not compared:
        return f"{asked}; no erased network is compared with {goal.name} here."
    row, gaps = min(compared, key=lambda pair: _mean(pair[1]))
    worst = max(gaps, key=lambda key: gaps[key])
    nearest = f"the erased network nearest to {goal.name}, {row.name}, differs from it"
    which = nearest if len(compared) > 1 else f"the erased network differs from {goal.name}"
    return (
        f"{asked}; {which} by {_mean(gaps):.2f} points on average "
        f"and by {gaps[worst]:.2f} at most ({MEANING[worst][0]})."
    )


def in_words(request: str) -> str:
    """A request as one would say it; what cannot be read stands as it is.

    >>> in_words("class:automobile,cat,truck"), in_words("random@10%")
    ('all records of the classes automobile, cat and truck', '10 % of all records, drawn at random')
    """
    if request.startswith("ids:"):  # the list itself is not read again
        return f"the records listed in {request.removeprefix('ids:')}"
    try:
        wish = parse(request)
    except SublimateError:
        return request
    match wish:
        case FullClass(names=names):
            return f"all records of the class{'' if len(names) == 1 else 'es'} {_listed(names)}"
        case SubClass(name=name, share=share):
            return f"{100 * share:g} % of the records of the class {name}, drawn at random"
        case RandomFraction(share=share):
            return f"{100 * share:g} % of all records, drawn at random"
        case Records(ids=ids):
            return f"the record{'' if len(ids) == 1 else 's'} {_listed(ids)}"
        case _:
            assert_never(wish)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _gaps(story: Story, row: Row) -> dict[str, float]:
    """Distances to the reference, without their signs."""
    return {key: abs(distance) for key in shown(story) if (distance := gap(story, row, key)) is not None}


def _mean(gaps: dict[str, float]) -> float:
    return sum(gaps.values()) / len(gaps)


def _networks(story: Story) -> list[dict[str, Any]]:
    """The table, row by row."""
    least = _least(story)
    networks = []
    for row in story.rows:
        made, cells = kind(story, row), []
        for key in shown(story):
            distance = gap(story, row, key)
            cells.append(
                {
                    "value": percent(figure(row, key)),
                    "gap": None if distance is None else signed(distance).replace("-", "−"),
                    "best": made == "erased" and distance is not None and round(abs(distance), 2) == least.get(key),
                }
            )
        networks.append({"row": row, "kind": made, "cells": cells})
    return networks


def _least(story: Story) -> dict[str, float]:
    """The least gap of each figure, as shown; one network alone is not the best of anything."""
    everyone = [_gaps(story, row) for row in erased(story)]
    gaps = {key: [round(own[key], 2) for own in everyone if key in own] for key in shown(story)}
    return {key: min(values) for key, values in gaps.items() if len(values) > 1}


def _sha256(script: str) -> str:
    """How a content security policy names a script it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
