"""Figures and their panels are told apart by their names, whatever users call their data and lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from picked import only, picture_of

from sublimate.report.bench.figures.saving import save
from sublimate.report.bench.figures.views import points_pictures


def test_clouds_of_seeds_and_models_are_told_apart(made_results):
    first = next(cloud for cloud in made_results.points if cloud.label == "Retrain")
    changes = ({}, {"seed": 1}, {"model": "he-resnet20"}, {"data": "cifar100", "seed": 1})
    clouds = [first.model_copy(update=change) for change in changes]
    (picture,) = points_pictures(clouds)
    assert [panel.title for panel in picture.panels] == [
        "full-class, simple, cifar10, he-resnet8, seed 0", "full-class, simple, cifar10, he-resnet8, seed 1",
        "full-class, simple, cifar10, he-resnet20, seed 0", "full-class, simple, cifar100, he-resnet8, seed 1",
    ]  # fmt: skip


def test_divergences_of_two_models_are_two_lines(made_results):
    results = only(made_results, "analysis/kl")
    larger = [
        row.model_copy(update={"model": "he-resnet20", "figures": row.figures | {"kl_df": 7.0}})
        for row in results.rows
        if (row.scenario, row.views) == ("full-class", "simple")
    ]
    one, *_ = picture_of(replace(results, rows=(*results.rows, *larger)), "analysis-kl-kl").panels
    assert list(one.y.ticks.values()) == [
        "simple, he-resnet8", "contrastive, he-resnet8", "cutout, he-resnet8", "simple, he-resnet20",
    ]  # fmt: skip
    (forgotten,) = [marks for marks in one.marks if marks.name == "forgotten"]
    assert (forgotten.x[0], forgotten.x[3]) == (pytest.approx(0.372), 7.0)  # 0.12 · 3.1


def test_labels_that_look_alike_and_long_ones_have_files_of_their_own(made_results, tmp_path):
    first = made_results.points[0]
    labels = ("Same A", "same a", "same-a", "я" * 199, "ю" * 199)
    points = tuple(first.model_copy(update={"label": label, "points": first.points[:4]}) for label in labels)
    results = replace(only(made_results, "analysis/tsne"), points=points)
    names = [path.name for path in save(results, tmp_path)]
    assert len({name.lower() for name in names}) == 3 * len(labels)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert max(map(len, names)) < 100


def test_paths_of_data_lead_no_figure_out_of_its_folder(made_results, tmp_path):
    results = only(made_results, "full-class/cifar10")
    out = "deep/../../../x/two.npz"
    rows = tuple(r.model_copy(update={"data": out}) if r.model == "he-resnet20" else r for r in results.rows)
    folder = tmp_path / "a" / "figures"
    written = save(replace(results, rows=rows, timings=()), folder)
    assert {path.parent for path in written} == {folder} and len(set(written)) == 6
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != folder] == []
