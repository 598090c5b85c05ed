"""Some of the results, and one of their pictures."""

from __future__ import annotations

from sublimate.bench.results import Results
from sublimate.report.bench.figures.picture import Picture
from sublimate.report.bench.figures.saving import pictures


def only(results: Results, *ids: str) -> Results:
    """The results of some experiments."""
    return Results(
        rows=tuple(row for row in results.rows if row.experiment in ids),
        timings=tuple(timing for timing in results.timings if timing.experiment in ids),
        points=tuple(cloud for cloud in results.points if cloud.experiment in ids),
        experiments={id: one for id, one in results.experiments.items() if id in ids},
    )


def picture_of(results: Results, name: str) -> Picture:
    """The one of this name."""
    (found,) = [picture for picture in pictures(results) if picture.name == name]
    return found
