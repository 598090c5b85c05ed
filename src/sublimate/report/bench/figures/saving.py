"""Figures of a bench for print, each a function of the results; what has no data is not made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....bench.lines import YARDSTICKS, Summary
from ....bench.summary import summarise
from ....files import AnyPath, make_folder, rewrite
from .axes import any_script
from .costs import budget_pictures, runtime_pictures
from .gaps import cost_pictures, gap_pictures
from .looks import Looks, looks
from .parts import terms_pictures, views_pictures
from .picture import SEPARATOR, Picture
from .printing import printed
from .views import divergence_pictures, points_pictures
from .ways import curve_pictures, trajectory_pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ....bench.results import Results

Maker = Callable[[Summary, Looks], Iterator[Picture]]
OWN_FIGURES: dict[str, tuple[Maker, ...]] = {  # of built-in experiments; who names one otherwise gets the usual figures
    "runtime": (runtime_pictures,),
    "ablation/terms": (terms_pictures,),
    "ablation/views": (views_pictures,),
    "budget/cifar10": (budget_pictures,),
}
METADATA: dict[str, dict[str, Any]] = {  # no dates and versions: the same figure is the same file
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def pictures(results: Results) -> Iterator[Picture]:
    """All pictures that the results give material for, experiment by experiment."""
    look = looks(results)
    for experiment in results.experiments.values():
        summary = summarise(results.rows, results.timings, experiment)
        clouds = [cloud for cloud in results.points if cloud.experiment == experiment.id]
        made = chain(*(make(summary, look) for make in _makers(summary)), points_pictures(clouds))
        yield from (replace(picture, about=_about(summary)) for picture in made)


def _about(summary: Summary) -> str:
    """What all settings of an experiment have in common, and how many seeds there are."""
    places = [block.where._replace(views=f"{block.where.views} views")[1:] for block in summary.blocks]
    shared = [values[0] for values in zip(*places, strict=True) if len(set(values)) == 1]
    seeds = max((line.seeds for block in summary.blocks for line in block.lines), default=1)
    return SEPARATOR.join([summary.experiment.title, *shared, f"{seeds} seed{'s' if seeds > 1 else ''}"])


def _makers(summary: Summary) -> tuple[Maker, ...]:
    experiment = summary.experiment
    if experiment.kind == "curve":
        methods = {line.method for block in summary.blocks for line in block.lines} - set(YARDSTICKS)
        return (curve_pictures,) if len(methods) < 2 else (trajectory_pictures,)
    if experiment.kind == "kl":
        return (divergence_pictures,)
    return OWN_FIGURES.get(experiment.id, (gap_pictures, cost_pictures))


def figures(results: Results) -> Iterator[tuple[str, Figure]]:
    """Every figure with its name."""
    for picture in pictures(results):
        yield picture.name, printed(picture)


def save(results: Results, folder: AnyPath) -> list[Path]:
    """Write every figure as PNG, SVG and PDF; the same results give the same bytes."""
    make_folder(Path(folder))
    written = []
    for name, figure in figures(results):
        for ending in METADATA:
            written.append(Path(folder) / f"{name}.{ending}")
            rewrite(written[-1], _bytes(figure, ending))
    return written


def _bytes(figure: Figure, ending: str) -> bytes:
    from matplotlib import rc_context

    stream = BytesIO()
    with rc_context({"svg.hashsalt": "sublimate"}), any_script():
        figure.savefig(stream, format=ending, dpi=200, metadata=METADATA[ending])
    return stream.getvalue()
