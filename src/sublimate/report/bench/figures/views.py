"""What a network makes of views of one record: divergences, and points in the plane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ....bench.kinds import file_name, safe_name
from ....bench.lines import Block, Summary, Where
from .looks import Looks, told_apart
from .parts import joined
from .picture import GREY, SECOND, Axis, Look, Marks, Panel, Picture, log_axis

if TYPE_CHECKING:
    from ....bench.results import Points

STAYS, FORGOTTEN = Look(colour=GREY, filled=False), Look(colour=SECOND)
GROUPS = (("stays", ("#5d7f99", "#9fc1dc"), "o"), ("to be forgotten", ("#a84300", "#f4a259"), "^"))  # dark to light


def divergence_pictures(summary: Summary, looks: Looks) -> Iterator[Picture]:
    """Divergence between views of a record that stays and of a forgotten one; one panel per scenario."""
    blocks = [block for block in summary.blocks if {"kl_dr", "kl_df"} <= set(block.measures)]
    scenarios = list(dict.fromkeys(block.where.scenario for block in blocks))
    x = log_axis(
        "KL", [value for block in blocks for pair in _pairs([block]).values() for value in pair if value] or [1.0]
    )
    if blocks:
        yield Picture(
            name=f"{file_name(summary.experiment.id)}-kl",
            experiment=summary.experiment.id,
            title="Divergence of views",
            words="How much the answers to views of one record differ: of a record that stays (ring), of a forgotten "
            "one (dot), on a logarithmic scale. A network that never learned a record answers its views less alike.",
            grid=[[_divergence([b for b in blocks if b.where.scenario == one], one, x) for one in scenarios]],
            legend=True,
        )


def _pairs(blocks: Sequence[Block]) -> dict[str, list[float | None]]:
    """By kind of views and what else tells lines apart: divergence on what stays, and on what is forgotten."""
    names = _beyond_views([block.where for block in blocks])
    return {
        _listed(block.where.views, names[block.where], line.label if len(block.lines) > 1 else ""): [
            value.mean if (value := line.cells[key].measured) else None for key in ("kl_dr", "kl_df")
        ]
        for block in blocks
        for line in block.lines
    }


def _beyond_views(places: Sequence[Where]) -> dict[Where, str]:
    """What beside scenario and views tells settings apart; "" where nothing does."""
    rest = {where: where._replace(scenario="", views="") for where in places}
    names = told_apart(list(rest.values()))
    return {where: names[left] for where, left in rest.items()}


def _listed(*words: str) -> str:
    return ", ".join(filter(None, words))


def _divergence(blocks: Sequence[Block], scenario: str, x: Axis) -> Panel:
    pairs = _pairs(blocks)
    columns = [
        (word, [pair[place] for pair in pairs.values()], look)
        for place, (word, look) in enumerate((("stays", STAYS), ("forgotten", FORGOTTEN)))
    ]
    return joined(scenario, list(pairs), columns, x)


def points_pictures(clouds: Sequence[Points]) -> Iterator[Picture]:
    """Views of records in the plane: scenarios below each other, kinds of views beside each other."""
    for experiment, label in dict.fromkeys((cloud.experiment, cloud.label) for cloud in clouds):
        own = [cloud for cloud in clouds if (cloud.experiment, cloud.label) == (experiment, label)]
        titles = _titles(own)
        rows = [
            [_cloud(cloud, title) for cloud, title in zip(own, titles, strict=True) if cloud.scenario == one]
            for one in dict.fromkeys(cloud.scenario for cloud in own)
        ]
        single = all(len(row) == 1 for row in rows)
        yield Picture(
            name=f"{file_name(experiment)}-{safe_name(label)}",
            experiment=experiment,
            title=f"Views in the plane: {label}",
            words="Each mark is one augmented view of one record; views of one record share a shade. Views of a record "
            "that the network knows lie close together; of one that it never learned they scatter.",
            grid=[[panel for row in rows for panel in row]] if single else rows,
            legend=True,
            height=2.1,
        )


def _titles(clouds: Sequence[Points]) -> list[str]:
    places = [Where(cloud.edition, cloud.scenario, cloud.data, cloud.model, cloud.views) for cloud in clouds]
    names, several = _beyond_views(places), len({cloud.seed for cloud in clouds}) > 1
    return [
        _listed(where.scenario, where.views, names[where], f"seed {cloud.seed}" if several else "")
        for where, cloud in zip(places, clouds, strict=True)
    ]


def _cloud(cloud: Points, title: str) -> Panel:
    marks = []
    for group, (word, shades, marker) in enumerate(GROUPS):
        numbers = sorted({number for _, _, own, number in cloud.points if own == group})
        for place, number in enumerate(numbers):
            own = [(x, y) for x, y, of, which in cloud.points if (of, which) == (group, number)]
            look = Look(colour=_shade(shades, place / max(len(numbers) - 1, 1)), marker=marker, size=2.6)
            name = word if place == len(numbers) // 2 else ""
            says = [f"{word}, record {number}"] * len(own)
            marks.append(Marks(name=name, x=[x for x, _ in own], y=[y for _, y in own], look=look, says=says))
    bare = Axis(shown=False, grid=False)
    return Panel(title=title, marks=marks, x=bare, y=bare)


def _shade(ends: tuple[str, str], share: float) -> str:
    """A colour between two.

    >>> _shade(("#000000", "#ff8800"), 0.5)
    '#804400'
    """
    first, last = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in ends)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, last, strict=True))
