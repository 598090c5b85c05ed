"""Means, intervals, gaps, cost and marks, worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_digits import METHODS, REQUESTS, row

from sublimate.bench.experiments import parse
from sublimate.bench.lines import Estimate, estimate
from sublimate.bench.results import Audited, Row, Timing
from sublimate.bench.schema import Experiment
from sublimate.bench.summary import Summary, summarise

T2 = 0.95 * math.sqrt(2 / (4 * 0.975 * 0.025))  # quantile .975 of t with two degrees of freedom, closed form: 4.3027
T1 = math.tan(0.475 * math.pi)  # with one: 12.706

HEAD = """
id = "own/digits"
title = "Mine"
kind = "KIND"
measures = ["acc_df", "ta", "kl_dr"]
"""
SETTING = """
[[settings]]
scenario = "SCENARIO"
[settings.smoke]
data = "digits"
request = "REQUEST"
model = "MODEL"
recipe = "fast"
views = "none"
few = 100
"""
LABELS = ("Original", "Retrain", "Siamese", "Finetune", "SCRUB")


def experiment(kind: str = "scores", settings: tuple[tuple[str, str], ...] = (("random", "small-cnn"),)) -> Experiment:
    blocks = "".join(
        SETTING.replace("SCENARIO", scenario).replace("MODEL", model).replace("REQUEST", REQUESTS[scenario])
        for scenario, model in settings
    )
    return parse(HEAD.replace("KIND", kind) + blocks + METHODS.replace("MEASURE", "acc_df"), place="own.toml")


def timing(label: str, seconds: float, seed: int = 0, **facts: object) -> Timing:
    usual = {
        "experiment": "own/digits", "edition": "smoke", "scenario": "random", "data": "digits", "views": "none",
        "model": "small-cnn", "label": label, "seed": seed, "seconds": seconds, "threads": 1,
        "host": "here", "at": "then",
    }  # fmt: skip
    return Timing(**(usual | facts))


def gapped(label: str, seed: int = 0, failed: str | None = None, **gaps: float) -> Row:
    return row(label, seed, gap=dict(gaps), figures=dict.fromkeys(gaps, 50.0), failed=failed)


def lines(summary: Summary) -> dict[str, object]:
    return {line.label: line for line in summary.blocks[0].lines}


def marks(*rows: Row) -> dict[str, str | None]:
    return {name: line.marks.get("acc_df") for name, line in lines(summarise(rows, [], experiment())).items()}


def test_interval_of_three_values():
    # mean 2, standard deviation 1, so 4.3027 · 1 / √3
    found = estimate([1.0, 2.0, 3.0])
    assert (found.mean, found.n) == (2.0, 3)
    assert found.half == pytest.approx(T2 / math.sqrt(3), rel=1e-12)
    assert f"{found.half:.4f}" == "2.4841"


def test_interval_of_two_one_and_no_values():
    # 1 and 3: standard deviation √2, divided by √2 is 1
    assert estimate([1.0, 3.0]).half == pytest.approx(T1, rel=1e-12)
    assert estimate([4.0]) == Estimate(4.0, None, 1)
    assert estimate([]) is None
    assert estimate([7.0, 7.0]).half == 0.0


def test_gaps_are_paired_by_seed():
    # Figures spread widely over the seeds, 60, 70, 80, yet each is 1, 2, 3 above Retrain of its own seed.
    rows = [row("Siamese", s, figures={"acc_df": 60.0 + 10 * s}, gap={"acc_df": 1.0 + s}) for s in range(3)]
    cell = lines(summarise(rows, [], experiment()))["Siamese"].cells["acc_df"]
    assert (cell.measured.mean, cell.gap.mean, cell.gap.n) == (70.0, 2.0, 3)
    assert cell.measured.half == pytest.approx(10 * T2 / math.sqrt(3), rel=1e-12)
    assert cell.gap.half == pytest.approx(T2 / math.sqrt(3), rel=1e-12)


def test_average_gap_and_tow_are_means_over_seeds():
    # ToW .9 · 1 · .9 = .81 and .8 · .8 · 1 = .64: mean .725, half of their distance .085 times 12.706
    rows = [row("Siamese", 0, tow=0.81, average_gap=1.0), row("Siamese", 1, tow=0.64, average_gap=3.0)]
    line = lines(summarise(rows, [], experiment()))["Siamese"]
    assert line.tow.mean == pytest.approx(0.725, rel=1e-12)
    assert line.tow.half == pytest.approx(0.085 * T1, rel=1e-9)
    assert line.average_gap == Estimate(2.0, pytest.approx(T1, rel=1e-12), 2)


def test_retrain_has_no_distance_to_itself():
    rows = [row("Retrain", gap={"acc_df": 0.0}, figures={"acc_df": 90.0}, average_gap=0.0, tow=1.0)]
    line = lines(summarise(rows, [], experiment()))["Retrain"]
    assert (line.cells["acc_df"].gap, line.average_gap, line.tow, line.marks) == (None, None, None, {})


def test_run_time_efficiency_is_the_median_over_seeds_that_both_ran():
    # Siamese: 500 / 10 and 100 / 20 = 50 and 5, so 27.5 times as fast; seed 2 of Retrain has nothing beside it
    times = [timing("Retrain", s, i) for i, s in enumerate((500.0, 100.0, 120.0))]
    times += [timing("Siamese", s, i) for s, i in ((10.0, 0), (20.0, 1), (1.0, 3))] + [timing("Original", 0.5)]
    other = [timing("Siamese", 9999.0, views="simple"), timing("Siamese", 9999.0, experiment="else")]
    rows = [row("Retrain"), row("Siamese"), row("Original"), row("SCRUB")]
    found = lines(summarise(rows, times + other, experiment()))
    assert {name: (line.seconds, line.efficiency) for name, line in found.items()} == {
        "Original": (0.5, None),
        "Retrain": (120.0, 1.0),
        "Siamese": (10.0, 27.5),
        "SCRUB": (None, None),
    }


def test_threads_and_hosts_are_told():
    times = [timing("Siamese", 1.0), timing("Siamese", 1.0, 1, threads=4, host="there")]
    found = summarise([row("Siamese")], times, experiment())
    assert (found.threads, found.hosts) == ((1, 4), 2)


def test_seconds_of_a_whole_run_are_not_those_of_an_epoch():
    rows = [row("Siamese", kind="curve", epoch=e, figures={"ta": 9.0 - e}) for e in (10.0, 0.0, 2.0)]
    found = summarise(rows, [timing("Siamese", 1.0)], experiment("curve")).blocks[0].lines
    assert [(line.epoch, line.cells["ta"].measured.mean, line.seconds) for line in found] == [
        (0.0, 9.0, None),
        (2.0, 7.0, None),
        (10.0, -1.0, None),
    ]


def test_of_curves_that_end_at_different_epochs_the_end_is_the_last_point_of_each():
    # Seed 0 runs for three epochs, seed 1 stops within the third, seed 2 after the first.
    points = {0: {0.0: 90.0, 1.0: 60.0, 2.0: 30.0, 3.0: 0.0}, 1: {0.0: 90.0, 1.0: 60.0, 2.0: 30.0, 2.4: 30.0},
              2: {0.0: 90.0, 1.0: 30.0}}  # fmt: skip
    rows = [
        row("Siamese", seed, kind="curve", epoch=epoch, figures={"ta": value}, failed=None if value else "It fell.")
        for seed, curve in points.items() for epoch, value in curve.items()
    ]  # fmt: skip
    found = summarise(rows, [], experiment("curve")).blocks[0].lines
    assert [(line.epoch, line.cells["ta"].measured.mean, line.seeds) for line in found] == [
        (0.0, 90.0, 3),
        (1.0, 50.0, 3),
        (2.0, 30.0, 3),
        (3.0, 20.0, 3),  # (0 + 30 + 30) / 3
    ]
    assert [line.failed for line in found] == [(), (), (), ("It fell.",)]


def test_verdicts_samples_auc_and_reported():
    verdicts = ("FAIL", "PASS", "FAIL")
    rows = [
        row("Siamese", s, audit=Audited(verdict=v, tier=1), figures={"samples": 10 * s, "auc": 0.5})
        for s, v in enumerate(verdicts)
    ]
    line = lines(summarise([*rows, row("Siamese", 3, figures={"samples": 900})], [], experiment()))["Siamese"]
    assert list(line.verdicts.items()) == [("PASS", 1), ("FAIL", 2)]
    assert (line.samples, line.seeds, line.auc.n) == (15.0, 4, 3)  # the median of 0, 10, 20, 900
    assert (line.cells["acc_df"].reported, line.cells["ta"].reported) == (99.5, None)


def test_best_is_nearest_to_retrain_on_either_side():
    found = marks(
        gapped("Original", acc_df=0.0), gapped("Siamese", acc_df=-0.5), gapped("Finetune", acc_df=0.4),
        gapped("SCRUB", acc_df=9.0),
    )  # fmt: skip
    assert found == {"Original": None, "Siamese": "second", "Finetune": "best", "SCRUB": None}


def test_rounding_is_by_what_is_shown_and_ties_are_all_marked():
    # 0.501 and −0.499 are both shown as 0.50
    found = marks(gapped("Siamese", acc_df=0.501), gapped("Finetune", acc_df=-0.499), gapped("SCRUB", acc_df=0.51))
    assert found == {"Siamese": "best", "Finetune": "best", "SCRUB": "second"}


def test_measures_with_more_digits_are_told_apart_by_them():
    rows = [gapped("Siamese", kl_dr=0.0012), gapped("Finetune", kl_dr=0.0013)]
    found = lines(summarise(rows, [], experiment()))
    assert [found[name].marks["kl_dr"] for name in ("Siamese", "Finetune")] == ["best", "second"]


def test_failed_is_shown_but_never_best():
    found = summarise(
        [gapped("Siamese", 0, acc_df=0.0), gapped("Siamese", 1, "It collapsed.", acc_df=0.0),
         gapped("Finetune", acc_df=5.0)], [], experiment(),
    )  # fmt: skip
    siamese, finetune = found.blocks[0].lines
    assert (siamese.failed, siamese.seeds, siamese.marks) == (("It collapsed.",), 2, {})
    assert siamese.cells["acc_df"].measured.mean == 50.0
    assert finetune.marks == {"acc_df": "best"}


def test_the_average_gap_is_ranked_too():
    found = lines(summarise([row("Siamese", average_gap=2.0), row("SCRUB", average_gap=1.0)], [], experiment()))
    assert (found["SCRUB"].marks, found["Siamese"].marks) == ({"average_gap": "best"}, {"average_gap": "second"})


def test_without_retrain_and_in_curves_nothing_is_marked():
    assert marks(row("Siamese", figures={"acc_df": 1.0})) == {"Siamese": None}
    rows = [row("Siamese", epoch=1.0, gap={"ta": 0.0}, figures={"ta": 1.0})]
    assert summarise(rows, [], experiment("curve")).blocks[0].lines[0].marks == {}


def test_lines_and_settings_stand_in_the_order_of_the_file():
    settings = (("random", "vgg16-bn"), ("full-class", "small-cnn"), ("random", "small-cnn"))
    rows = [
        row(label, scenario=scenario, model=model)
        for scenario, model in reversed(settings)
        for label in ("unheard of", "SCRUB", "Retrain", "Original")
    ]
    found = summarise(rows, [], experiment(settings=settings))
    assert [(block.where.scenario, block.where.model) for block in found.blocks] == list(settings)
    assert [line.label for line in found.blocks[0].lines] == ["Original", "Retrain", "SCRUB", "unheard of"]


def test_other_experiments_and_measures_without_values_are_left_out():
    rows = [row("Siamese", figures={"ta": 3.0}), row("SCRUB", experiment="else", figures={"kl_dr": 1.0})]
    (block,) = summarise(rows, [], experiment()).blocks
    assert [line.label for line in block.lines] == ["Siamese"]
    assert block.measures == ("acc_df", "ta")  # acc_df is reported
    assert summarise([], [], experiment()).blocks == ()


ROWS = [
    row(
        label, seed, scenario=scenario, options={"lr": seed / 10}, average_gap=seed / 7,
        figures={"acc_df": 0.1 * seed + 0.7, "ta": None, "samples": seed}, gap={"acc_df": 0.3 - seed / 3},
        failed="No." if (label, seed) == ("SCRUB", 2) else None,
        audit=Audited(verdict=("PASS", "FAIL", "INCONCLUSIVE")[seed], tier=1),
    )
    for scenario in ("random", "full-class") for label in ("Retrain", "Siamese", "SCRUB") for seed in range(3)
]  # fmt: skip
TIMES = [timing(label, 1.7 * seed + 0.3, seed) for label in ("Retrain", "Siamese") for seed in range(3)]
DECLARED = experiment(settings=(("random", "small-cnn"), ("full-class", "small-cnn")))
IN_ORDER = summarise(ROWS, TIMES, DECLARED)


@given(st.permutations(ROWS), st.permutations(TIMES))
def test_the_order_of_rows_does_not_matter(rows, times):
    assert summarise(rows, times, DECLARED) == IN_ORDER


GAPS = st.floats(-100, 100).map(lambda gap: round(gap, 3))


@given(st.dictionaries(st.sampled_from(LABELS), st.tuples(GAPS, st.booleans()), min_size=1))
def test_marks_against_a_plain_reference(given_gaps):
    found = marks(*(gapped(label, 0, "No." if bad else None, acc_df=gap) for label, (gap, bad) in given_gaps.items()))
    ranked = {
        label: float(f"{abs(gap):.2f}")
        for label, (gap, bad) in given_gaps.items()
        if not bad and label not in ("Original", "Retrain")
    }
    for label, mark in found.items():
        nearer = {gap for gap in ranked.values() if gap < ranked.get(label, 0)}
        assert mark == (None if label not in ranked else {0: "best", 1: "second"}.get(len(nearer)))
