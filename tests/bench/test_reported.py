from __future__ import annotations

import re
from pathlib import Path

import pytest

from sublimate.bench.experiments import find, listed

# The gaps in brackets, line by line as printed: Acc_Df, and TA_Df where there is one.
GAPS = {
    ("sub-class/cifar10", "sub-class"): {
        "Finetune": (-18.15, 13.18), "NegGrad": (0.83, -2.14), "RandLab": (-79.82, -80.98), "BadT": (19.53, 15.05),
        "SCRUB": (16.97, 10.58), "SSD": (20.18, 16.49), "Amnesiac": (-79.82, -80.98), "Siamese": (-0.28, -5.68),
    },
    ("sub-class/cifar100", "sub-class"): {
        "Finetune": (54.48, 47.01), "NegGrad": (-8.17, -15.97), "RandLab": (-24.01, -24.99), "BadT": (18.82, 9.01),
        "SCRUB": (66.34, 55.01), "SSD": (-27.88, -24.99), "Amnesiac": (21.00, 24.01), "Siamese": (17.69, 10.01),
    },
    ("random/cifar10", "random"): {
        "Finetune": (-0.96,), "NegGrad": (-1.07,), "RandLab": (-21.97,), "BadT": (-1.93,),
        "SCRUB": (0.86,), "SSD": (0.80,), "Amnesiac": (-19.37,), "Siamese": (0.86,),
    },
    ("random/cifar100", "random"): {
        "Finetune": (-5.34,), "NegGrad": (-3.29,), "RandLab": (-14.95,), "BadT": (-8.31,),
        "SCRUB": (1.40,), "SSD": (1.46,), "Amnesiac": (-15.94,), "Siamese": (0.36,),
    },
    ("ablation/terms", "sub-class"): {
        "CE": (-79.82, -80.98), "CE + ALP": (-79.82, -80.98), "KVC": (20.18, 18.51),
        "KVC + CE": (-3.92, -7.89), "KVC + CE + ALP": (-0.28, -5.68),
    },
    ("ablation/terms", "random"): {
        "CE": (-16.99,), "CE + ALP": (-0.9,), "KVC": (-0.68,), "KVC + CE": (-0.04,), "KVC + CE + ALP": (0.86,),
    },
}  # fmt: skip
SLIPS = {("sub-class/cifar10", "Finetune", "acc_df"): 18.15, ("sub-class/cifar100", "Siamese", "ta_df"): 6.01}


@pytest.mark.parametrize(("id", "scenario"), GAPS)
def test_printed_gaps_are_own_minus_retrain_but_for_the_two_slips(id: str, scenario: str) -> None:
    (one,), (table,) = find(id), find(f"{scenario}/cifar100" if id.endswith("100") else f"{scenario}/cifar10")
    (retrain,) = (m.reported[scenario] for m in table.methods if m.name == "retrain")
    printed = GAPS[id, scenario]
    assert {m.label for m in one.methods if m.reported} - {"Original", "Retrain"} == set(printed)
    for method in one.methods:
        for measure, gap in zip(("acc_df", "ta_df"), printed.get(method.label, ()), strict=False):
            wanted = SLIPS.get((id, method.label, measure), gap)
            assert round(method.reported[scenario][measure] - retrain[measure], 2) == wanted, (method.label, measure)


def test_slips_and_contaminated_references_are_marked() -> None:
    remarks = {(one.id, *r.labels, *r.measures): r.text for one in listed() for r in one.remarks}
    assert all(slip in remarks for slip in SLIPS)
    assert "−18.15" in remarks["sub-class/cifar10", "Finetune", "acc_df"]
    assert {one.id for one in listed() if one.contaminated} == {"random/cifar10", "random/cifar100", "ablation/terms"}
    assert all(set(one.contaminated) <= {"random"} for one in listed())


PRINTED = {
    "tab:full-cifar10": ("full-class/cifar10", "full-class"),
    "tab:full-cifar100": ("full-class/cifar100", "full-class"),
    "tab:sub-cifar10": ("sub-class/cifar10", "sub-class"),
    "tab:sub-cifar100": ("sub-class/cifar100", "sub-class"),
    "tab:random-cifar10": ("random/cifar10", "random"),
    "tab:random-cifar100": ("random/cifar100", "random"),
    "app-tab:ablation-alp-1": ("ablation/terms", "full-class"),
    "tab:ablation-alp": ("ablation/terms", "sub-class"),
    "app-tab:ablation-alp-2": ("ablation/terms", "random"),
}


@pytest.mark.parametrize("label", PRINTED)
def test_reported_figures_are_those_of_the_paper_in_its_order(label: str) -> None:
    id, scenario = PRINTED[label]
    (one,) = find(id)
    assert _numbers(label) == [v for m in one.methods for v in m.reported.get(scenario, {}).values()]


def test_reported_figures_of_views_and_divergences() -> None:
    (views,), (kl,) = find("ablation/views"), find("analysis/kl")
    kinds = ("simple", "contrastive", "cutout")
    before, after = (next(m.reported for m in views.methods if m.label == name) for name in ("Original", "Siamese"))
    keys = [f"full-class@{kind}@resnet18" for kind in kinds]
    assert _numbers("tab:ablation-aug") == [v for key in keys for told in (before, after) for v in told[key].values()]
    told = kl.methods[0].reported
    assert _numbers("app_tab:KL_divergence") == [
        v for scenario in ("full-class", "sub-class", "random") for kind in kinds
        for v in told[f"{scenario}@{kind}@vgg16-bn"].values()
    ]  # fmt: skip


def _numbers(label: str) -> list[float]:
    source = Path(__file__).parents[3] / "shared" / "paper.tex"
    if not source.exists():
        pytest.skip("the source of the paper is not here")
    text = source.read_text(encoding="utf-8")
    start = text.index(f"\\label{{{label}}}")
    table = text[text.index("\\midrule", start) : text.index("\\bottomrule", start)]
    return [float(number) for number in re.findall(r"\d+\.\d+", re.sub(r"_\{\(.*?\)\}", "", table))]


def test_what_the_paper_reports_is_found_for_the_rows_of_every_edition() -> None:
    (one,) = find("ablation/views")
    where = {"scenario": "full-class", "data": "cifar10", "model": "he-resnet8", "views": "cutout"}
    assert one.reported("Siamese", edition="cpu", **where)["acc_df"] == 0.06
    assert one.reported("Retrain", edition="cpu", **where) == {}
    assert one.reported("Siamese", edition="paper", **where) == {}  # no he-resnet8 there
    (table,) = find("full-class/cifar10")
    where = {"scenario": "full-class", "data": "cifar10", "model": "he-resnet20", "views": "simple"}
    assert table.reported("BadT", edition="cpu", **where)["ta_df"] == 11.3
