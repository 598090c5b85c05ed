"""How each method looks in every picture, and what the pictures say of settings and means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....bench.lines import Estimate, Line, Where
from .picture import ACCENT, COLOURS, GREY, MARKERS, Look

if TYPE_CHECKING:
    from ....bench.results import Results

Looks = Mapping[str, Look]
YARDSTICKS = {"original": Look(colour=GREY, filled=False), "retrain": Look(colour=GREY, marker="*", size=12.0)}
BROKEN = Look(colour=GREY, marker="X")  # did not run through
OWN = (("o", "-"), ("P", "--"), ("D", ":"), ("s", "-."))  # markers and lines


def is_ours(method: str) -> bool:
    """Whether a method is of the family that this package is about."""
    return method.startswith("siamese")


def looks(results: Results) -> Looks:
    """One look per label: yardsticks grey, the Siamese family in the accent colour, all others by colour and marker."""
    methods = {row.label: row.method for row in results.rows}
    ours = [label for label, method in methods.items() if is_ours(method)]
    others = [label for label, method in methods.items() if not is_ours(method) and method not in YARDSTICKS]
    found = {label: YARDSTICKS[method] for label, method in methods.items() if method in YARDSTICKS}
    for place, label in enumerate(ours):
        marker, line = OWN[place % len(OWN)]
        found[label] = Look(colour=ACCENT, marker=marker, line=line)
    for place, label in enumerate(others):
        marker, colour = MARKERS[place % len(MARKERS)], COLOURS[place % len(COLOURS)]
        found[label] = Look(colour=colour, marker=marker, line="-")
    return found


def family(line: Line) -> Look:
    """The look in a list, where the name stands beside the mark: ours or not, failed or not."""
    if line.failed:
        return BROKEN
    if is_ours(line.method):
        return Look(colour=ACCENT)
    return Look(colour=GREY, filled=line.method != "original", size=5.0)


def listed_name(line: Line) -> str:
    """The label in a list."""
    return f"{line.label} (failed)" if line.failed else line.label


def ends(value: Estimate, *, least: float = -100.0, most: float = 100.0) -> tuple[float, float]:
    """The ends of an interval, within what is possible; of one seed, the value itself.

    >>> ends(Estimate(99.0, 2.0, 3)), ends(Estimate(5.0, None, 1))
    ((97.0, 100.0), (5.0, 5.0))
    """
    half = value.half or 0.0
    return max(value.mean - half, least), min(value.mean + half, most)


def told_apart(places: Sequence[Where]) -> dict[Where, str]:
    """What tells settings of one experiment from each other; of a single one, its scenario.

    >>> first = Where("cpu", "random", "cifar10", "he-resnet8", "simple")
    >>> list(told_apart([first, first._replace(model="he-resnet20")]).values())
    ['he-resnet8', 'he-resnet20']
    """
    differing = [field for field in Where._fields if len({getattr(where, field) for where in places}) > 1]
    return {where: ", ".join(getattr(where, field) for field in differing or ["scenario"]) for where in places}
