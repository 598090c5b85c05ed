"""Runs that failed are marked as such in every figure, and nothing else looks like them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from picked import only, picture_of

from sublimate.bench.results import Results
from sublimate.bench.summary import summarise
from sublimate.report.bench.figures.looks import BROKEN, OWN
from sublimate.report.bench.figures.picture import MARKERS, Panel


def fallen(results: Results, id: str, label: str, **where: str) -> Results:
    """The results of one experiment, in which a line failed (in some settings) with every seed."""
    own = only(results, id)
    rows = [
        row.model_copy(update={"failed": "It fell."})
        if row.label == label and all(getattr(row, name) == value for name, value in where.items())
        else row
        for row in own.rows
    ]
    return replace(own, rows=tuple(rows))


def broken(panel: Panel) -> list[str]:
    """What marks of failed runs say."""
    return [words for marks in panel.marks if marks.look == BROKEN for words in marks.says]


def test_run_times_of_failed_methods_are_no_speed(made_results):
    results = fallen(made_results, "runtime", "SSD", model="he-resnet8")
    first, second, _ = picture_of(results, "runtime-seconds").panels
    assert list(first.y.ticks.values())[-1] == "SSD (failed)" and next(iter(second.y.ticks.values())) == "SSD"
    assert [marks.look == BROKEN for marks in first.marks] == [False] * (len(first.marks) - 1) + [True]
    assert "×" not in first.marks[-1].written[0] and first.marks[-1].says[0].startswith("SSD (failed): ")
    assert broken(second) == []
    (experiment,) = results.experiments.values()
    lines = [line for block in summarise(results.rows, results.timings, experiment).blocks for line in block.lines]
    assert [line.efficiency is None for line in lines if line.label == "SSD"] == [True, False, False]


def test_a_failed_budget_is_a_cross_beside_the_line(made_results):
    whole = picture_of(only(made_results, "budget/cifar10"), "budget-cifar10-budget").grid[0][0]
    for label, sound, few in (("Siamese, 10", [1, 2, 3], 0), ("Siamese, 1000", [0, 1, 3], 2)):
        results = fallen(made_results, "budget/cifar10", label, scenario="full-class")
        for row in picture_of(results, "budget-cifar10-budget").grid:
            line, cross = row[0].marks
            assert (line.x, cross.x, line.name, cross.name) == (sound, [few], "Siamese", "")
            assert cross.look == BROKEN and line.look == whole.marks[0].look
            assert (cross.written, line.written) == (["Siamese"], ())  # a cross stands for any method: it is named
            assert broken(row[0])[0].startswith(f"{label} (failed): ") and broken(row[1]) == []


def test_failed_choices_of_terms_are_crosses(made_results):
    panel, other, _ = picture_of(
        fallen(made_results, "ablation/terms", "KVC", scenario="full-class"), "ablation-terms-terms"
    ).panels
    assert list(panel.y.ticks.values()) == ["CE", "CE + ALP", "KVC (failed)", "KVC + CE", "KVC + CE + ALP"]
    crosses = [marks for marks in panel.marks if marks.look == BROKEN]
    assert len(crosses) == 6 and all(len(marks.x) == 1 and round(marks.y[0]) == 2 for marks in crosses)
    assert all(len(marks.x) == 4 for marks in panel.marks if marks.look != BROKEN)
    assert broken(other) == []


def test_failed_kinds_of_views_are_crosses(made_results):
    panels = picture_of(
        fallen(made_results, "ablation/views", "Siamese", views="cutout"), "ablation-views-before-after"
    ).panels
    for panel in panels:
        places = {marks.name: [round(y) for y in marks.y] for marks in panel.marks if marks.name}
        assert places == {"Original": [0, 1, 2], "Siamese": [0, 1], "Siamese (failed)": [2]}
        assert len(broken(panel)) == 1 and broken(panel)[0].startswith("cutout, Siamese (failed): ")


@pytest.mark.parametrize("markers", [MARKERS, [marker for marker, _ in OWN]])
def test_no_sound_method_is_a_cross(markers):
    assert BROKEN.marker not in markers
