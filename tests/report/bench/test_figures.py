"""Figures of a bench: what they show, worked out by hand; that they print the same twice, and change nothing global."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from picked import only, picture_of

from sublimate.bench.experiments import parse
from sublimate.bench.kinds import file_name
from sublimate.bench.results import Results
from sublimate.report.bench.figures.gaps import _unbeaten
from sublimate.report.bench.figures.labels import beside
from sublimate.report.bench.figures.looks import looks
from sublimate.report.bench.figures.picture import GREY, Axis, Goal, fold, folded_axis, log_axis, short
from sublimate.report.bench.figures.printing import printed
from sublimate.report.bench.figures.saving import figures, pictures, save

distances = st.floats(-100, 100)


def test_every_kind_of_result_has_its_figures(made_results):
    assert [picture.name for picture in pictures(made_results)] == [
        "full-class-cifar10-gaps-he-resnet8", "full-class-cifar10-gaps-he-resnet20", "full-class-cifar10-cost",
        "sub-class-cifar10-gaps", "sub-class-cifar10-cost", "random-cifar10-gaps", "random-cifar10-cost",
        "full-class-cifar100-gaps", "full-class-cifar100-cost", "runtime-seconds", "ablation-concentration-curves",
        "ablation-terms-terms", "ablation-views-before-after", "budget-cifar10-budget",
        "trajectory-cifar10-trajectory", "analysis-kl-kl", "analysis-tsne-retrain-386cffe6",
        "analysis-tsne-siamese-bac1b671",
    ]  # fmt: skip


@pytest.mark.parametrize("id", ["budget-x", "budget/x", "runtime2", "ablation/terms-of-mine"])
def test_an_experiment_of_ones_own_has_the_usual_figures_whatever_its_id(id, made_results):
    known = only(made_results, "random/cifar10")
    text = known.experiments["random/cifar10"].text.replace('"random/cifar10"', f'"{id}"', 1)
    mine = {"experiment": id}
    results = Results(
        rows=tuple(row.model_copy(update=mine) for row in known.rows),
        timings=tuple(timing.model_copy(update=mine) for timing in known.timings),
        experiments={id: parse(text, place="own.toml")},
    )
    ends = [picture.name.removeprefix(f"{file_name(id)}-") for picture in pictures(results)]
    assert ends == ["gaps", "cost"]


def test_a_figure_without_data_is_not_made(made_results):
    assert list(pictures(Results(rows=()))) == []
    untimed = replace(made_results, timings=())
    names = {picture.name for picture in pictures(untimed)}
    assert "random-cifar10-gaps" in names and not any("cost" in name or "seconds" in name for name in names)
    alone = [row.model_copy(update={"gap": None, "average_gap": None, "tow": None}) for row in made_results.rows]
    names = {picture.name for picture in pictures(replace(made_results, rows=tuple(alone), points=()))}
    assert not any("gaps" in name or "cost" in name or "terms-" in name or "tsne" in name for name in names)


def test_gaps_by_hand(made_results):
    results = only(made_results, "random/cifar10")
    rows = [
        row.model_copy(update={"average_gap": 1.0 + 2.0 * row.seed, "gap": {"acc_df": -9.0}, "failed": None})
        for row in results.rows
        if row.label in ("Siamese", "SCRUB") and row.seed < 2
    ]
    rows[0] = rows[0].model_copy(update={"average_gap": 0.5})
    picture = picture_of(replace(results, rows=tuple(rows), timings=()), "random-cifar10-gaps")
    average, acc_df = picture.panels
    # Siamese: 1 and 3; SCRUB: 0.5 and 3, so it is on top.
    # t(0.975, 1) = 12.7062 and sd = |a - b| / √2, so half the interval of two values is 12.7062 · |a - b| / 2.
    assert list(average.y.ticks.values()) == ["SCRUB", "Siamese"]
    by_place = {
        y: (x, low, high) for m in average.marks for x, y, low, high in zip(m.x, m.y, m.low, m.high, strict=True)
    }
    assert by_place[1] == pytest.approx((math.log10(3), 0.0, math.log10(1 + 2 + 12.7062)), abs=1e-4)
    assert by_place[0] == pytest.approx((math.log10(2.75), 0.0, math.log10(1 + 1.75 + 12.7062 * 1.25)), abs=1e-4)
    assert acc_df.title == "Acc_Df" and {x for m in acc_df.marks for x in m.x} == {-1.0}  # −log10(1 + 9)


def test_failed_and_original_are_told_apart_from_methods(made_results):
    panel = picture_of(made_results, "full-class-cifar10-gaps-he-resnet8").panels[0]
    names = list(panel.y.ticks.values())
    signs = {names[int(y)]: (m.look.marker, m.look.filled) for m in panel.marks for y in m.y}
    assert signs["NegGrad (failed)"][0] == "X" and signs["Original"] == ("o", False) and signs["SCRUB"] == ("o", True)
    assert "Retrain" not in names


def test_failed_methods_are_no_part_of_the_front(made_results):
    results = only(made_results, "random/cifar10")
    gone = {"SSD": 0.01}  # nearer than all, and the fastest of all
    rows = [
        row.model_copy(update={"average_gap": gone[row.label], "failed": "It fell."}) if row.label in gone else row
        for row in results.rows
    ]
    (panel,) = picture_of(replace(results, rows=tuple(rows)), "random-cifar10-cost").panels
    front, *dots = panel.marks
    (failed,) = [mark for mark in dots if mark.written == ["SSD (failed)"]]
    assert (failed.look.marker, failed.look.colour) == ("X", GREY)
    assert fold(0.01) == failed.y[0] not in front.y and len(front.x) > 1
    sound = [mark for mark in dots if mark is not failed]
    assert all(mark.look.colour != GREY for mark in sound)


def test_run_times_by_hand(made_results):
    panel = picture_of(made_results, "runtime-seconds").panels[0]
    written = dict(zip(panel.y.ticks.values(), (m.written[0] for m in panel.marks), strict=True))
    assert written["Siamese"] == "31 s  26×"  # 812 / 31 = 26.2
    assert written["Finetune"] == "96 s  8.5×" and written["Retrain"] == "812 s"
    assert next(iter(written)) == "SSD" and list(written)[-1] == "Retrain" and "Original" not in written


def test_budgets_are_in_order(made_results):
    picture = picture_of(made_results, "budget-cifar10-budget")
    panel = picture.grid[0][0]
    assert list(panel.x.ticks.values()) == ["10", "100", "1,000", "all"] and panel.marks[0].x == [0, 1, 2, 3]
    assert [mark.name for mark in panel.marks] == ["Siamese"] and not picture.legend
    assert [goal.name for goal in picture.grid[1][0].goals] == ["Retrain"]


def test_methods_with_equal_figures_do_not_cover_each_other(made_results):
    results = only(made_results, "budget/cifar10")
    twins = [
        row.model_copy(update={"method": "finetune", "label": row.label.replace("Siamese", "Finetune")})
        for row in results.rows
        if row.method == "siamese"
    ]
    panel = picture_of(replace(results, rows=(*results.rows, *twins)), "budget-cifar10-budget").grid[0][0]
    one, two = panel.marks
    assert one.y == two.y and {one.name, two.name} == {"Siamese", "Finetune"}
    assert [round(b - a, 9) for a, b in zip(one.x, two.x, strict=True)] == [0.12] * 4  # of 0.24 in all


def test_curves_by_hand(made_results):
    picture = picture_of(made_results, "ablation-concentration-curves")
    assert [[panel.title for panel in row] for row in picture.grid] == [
        ["Concentration, he-resnet8", "Concentration, he-resnet20"],
        ["Concentration and vaporization, he-resnet8", "Concentration and vaporization, he-resnet20"],
    ]
    kept, gone = picture.grid[1][0].marks
    assert kept.x == gone.x == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert gone.y[:2] == pytest.approx([88.2, 35.28])  # 88.2 · 0.4
    assert kept.look.line != gone.look.line and kept.look.marker != gone.look.marker


def test_ways_start_at_the_original_and_yardsticks_lie_above(made_results):
    (panel,) = picture_of(made_results, "trajectory-cifar10-trajectory").panels
    ways = [mark for mark in panel.marks if not mark.name]
    assert len(ways) == 10 and {(mark.x[0], mark.y[0]) for mark in ways} == {(88.2, 86.4)}
    assert [mark.name for mark in panel.marks][-2:] == ["Original", "Retrain"]


def test_equal_figures_of_one_line_do_not_cover_each_other(made_results):
    alike = [
        row.model_copy(update={"figures": dict.fromkeys(row.figures, 50.0)})
        for row in only(made_results, "ablation/views").rows
    ]
    picture = picture_of(
        replace(only(made_results, "ablation/views"), rows=tuple(alike)), "ablation-views-before-after"
    )
    for panel in picture.panels:
        places = [at for marks in panel.marks if marks.look.marker for at in zip(marks.x, marks.y, strict=True)]
        assert len(set(places)) == len(places) > len(panel.y.ticks)
        assert all(abs(y - round(y)) < 0.5 for _, y in places)  # each stays on its own line


def test_clouds_stand_by_scenario_and_views(made_results):
    picture = picture_of(made_results, "analysis-tsne-retrain-386cffe6")
    assert [[panel.title for panel in row] for row in picture.grid][1] == [
        "sub-class, simple", "sub-class, contrastive", "sub-class, cutout",
    ]  # fmt: skip
    marks = picture.panels[0].marks
    assert sum(len(mark.x) for mark in marks) == 2000 and len({mark.look.marker for mark in marks}) == 2
    assert [mark.name for mark in marks if mark.name] == ["stays", "to be forgotten"]


def test_every_method_has_a_look_of_its_own_even_without_colour(made_results):
    labels = {row.label for row in made_results.rows if row.experiment == "full-class/cifar10"}
    found = looks(made_results)
    assert len({(found[label].marker, found[label].line, found[label].filled) for label in labels}) == len(labels) == 12


@given(distances, distances)
def test_fold_keeps_order_and_is_odd(a, b):
    assert fold(-a) == -fold(a)
    assert a == b or (fold(a) <= fold(b)) == (a < b) or fold(a) == fold(b)


@given(st.lists(distances, max_size=6))
def test_folded_axis_holds_all_values(values):
    axis = folded_axis("", values)
    assert axis.span[0] < min(map(fold, [0.0, *values])) and max(map(fold, [0.0, *values])) < axis.span[1]
    assert all(axis.span[0] <= tick <= axis.span[1] for tick in axis.ticks)


@given(st.lists(st.floats(0.001, 1e5), min_size=1, max_size=6))
def test_logarithmic_axis_holds_all_values_and_has_a_number(values):
    axis = log_axis("", values)
    assert axis.span[0] < min(values) <= max(values) < axis.span[1]
    assert axis.ticks and all(axis.span[0] <= tick <= axis.span[1] for tick in axis.ticks)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_unbeaten_by_comparing_all(dots):
    beaten = {a for a in dots for b in dots if b != a and b[0] <= a[0] and b[1] <= a[1]}
    assert set(_unbeaten(dots)) == set(dots) - beaten


def test_names_beside_marks_avoid_each_other():
    axis = Axis(span=(0.0, 1.0))
    sides = beside({"left": (0.45, 0.5), "right": (0.55, 0.5), "edge": (0.98, 0.9)}, axis, axis, (3.0, 2.0))
    assert sides == {"left": "left", "right": "right", "edge": "left"}


def test_names_beside_marks_avoid_an_upright_line_and_its_name():
    axis, goal = Axis(span=(0.0, 1.0)), Goal(name="Retrain", at=0.7)
    for place in ((0.62, 0.3), (0.55, 0.9)):  # before the line; before its name, which is at the top
        assert beside({"a method": place}, axis, axis, (3.0, 2.0)) == {"a method": "right"}
        assert beside({"a method": place}, axis, axis, (3.0, 2.0), [goal]) == {"a method": "left"}


def test_the_same_results_print_the_same_bytes_and_nothing_global_changes(made_results, tmp_path):
    before = dict(matplotlib.rcParams)
    results = only(made_results, "analysis/kl")
    first, second = save(results, tmp_path / "one"), save(results, tmp_path / "two")
    assert [path.name for path in first] == [f"analysis-kl-kl.{ending}" for ending in ("png", "svg", "pdf")]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert b"<dc:date>" not in first[1].read_bytes() and b"CreationDate" not in first[2].read_bytes()
    assert dict(matplotlib.rcParams) == before


def test_hostile_names_are_printed_as_they_stand(made_results, tmp_path):
    hostile = r"_$\frac{1$ <b> ^{" + "\x1b[31m\n" + "猫"
    rows = [row.model_copy(update={"label": f"{row.label}{hostile}"}) for row in made_results.rows]
    results = only(replace(made_results, rows=tuple(rows)), "budget/cifar10", "analysis/kl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = save(results, tmp_path)
    assert len(written) == 6
    assert "\n" not in short(hostile) and "\x1b" not in short(hostile)


def test_figures_are_free_of_pyplot_and_have_their_names(made_results):
    name, figure = next(iter(figures(only(made_results, "analysis/kl"))))
    assert name == "analysis-kl-kl" and not hasattr(figure, "number")  # pyplot would have numbered it
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["full-class", "sub-class", "random"]
    assert all(ax.get_xscale() == "log" for ax in figure.axes)


def test_panels_that_are_missing_leave_their_place_empty(made_results):
    picture = picture_of(made_results, "analysis-tsne-retrain-386cffe6")
    ragged = replace(picture, grid=[picture.grid[0], picture.grid[1][:1]])
    shown = [ax.get_visible() for ax in printed(ragged).axes]
    assert shown == [True, True, True, True, False, False]


def test_a_figure_that_stands_alone_says_what_it_is_of(made_results):
    picture = picture_of(made_results, "sub-class-cifar10-gaps")
    of = "Forgetting most of one class of CIFAR-10"
    assert picture.about == f"{of} · sub-class · cifar10 · he-resnet8 · simple views · 3 seeds"
    assert printed(picture).get_supxlabel() == picture.about
    several = picture_of(made_results, "full-class-cifar10-cost")  # two networks: the panels name them
    assert "resnet" not in several.about
