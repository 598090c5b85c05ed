from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sublimate.bench import experiments
from sublimate.bench.checks import check
from sublimate.bench.experiments import EDITIONS, Experiment, find, listed
from sublimate.data.cifar_sets import CIFAR10, CIFAR100
from sublimate.errors import InputRefused, UsageError
from sublimate.request import FullClass, SubClass, parse
from sublimate.unlearn import find as find_method
from sublimate.unlearn.labels import permute

CLASSES = {"cifar10": CIFAR10.classes, "cifar100": CIFAR100.classes, "digits": tuple("0123456789")}
PAPER = {  # every result the paper shows: networks and views
    "full-class/cifar10": {("vgg16-bn", "simple")},
    "full-class/cifar100": {("resnet50", "contrastive")},
    "sub-class/cifar10": {("vgg16-bn", "simple")},
    "sub-class/cifar100": {("resnet18", "contrastive")},
    "random/cifar10": {("vgg16-bn", "simple")},
    "random/cifar100": {("resnet50", "cutout")},
    "runtime": {("vgg16-bn", "simple"), ("resnet18", "simple"), ("resnet50", "simple")},
    "ablation/concentration": {("vgg16-bn", "simple"), ("resnet18", "simple"), ("resnet50", "simple")},
    "ablation/terms": {("vgg16-bn", "simple")},
    "ablation/views": {("resnet18", "simple"), ("resnet18", "contrastive"), ("resnet18", "cutout")},
    "analysis/kl": {("vgg16-bn", "simple"), ("vgg16-bn", "contrastive"), ("vgg16-bn", "cutout")},
    "analysis/tsne": {("vgg16-bn", "simple"), ("vgg16-bn", "contrastive"), ("vgg16-bn", "cutout")},
}
OURS = ["trajectory/cifar10", "budget/cifar10"]
NINE = {"original", "retrain", "finetune", "neggrad", "randlab", "badt", "scrub", "ssd", "amnesiac"}


def test_every_result_of_the_paper_is_declared_with_its_networks_and_views() -> None:
    assert [one.id for one in listed()] == [*PAPER, *OURS]
    for one in listed():
        cases = {(s.paper.model, s.paper.views) for s in one.settings if s.paper}
        assert cases == PAPER.get(one.id, {("vgg16-bn", "simple")})


@pytest.mark.parametrize("one", listed(), ids=lambda one: one.id)
def test_names_values_and_requests_exist_in_every_edition(one: Experiment) -> None:
    check(one, place=one.id)
    for edition in EDITIONS:
        assert list(one.pairs(edition)), edition
        for setting, case, method in one.pairs(edition):
            assert setting.scenario in find_method(method.name).scenarios
            asked = parse(case.request)
            assert isinstance(asked, FullClass | SubClass) == (setting.scenario != "random")
            names = asked.names if isinstance(asked, FullClass) else [asked.name] if isinstance(asked, SubClass) else []
            assert set(names) <= set(CLASSES[case.data])


def test_the_tables_hold_the_ten_approaches_and_ours() -> None:
    for id in list(PAPER)[:7]:
        (one,) = find(id)
        assert {method.name for method in one.methods} == NINE | {"siamese", "siamese-matched"}
        labels = {(m.name, m.preset): m.label for m in one.methods}
        assert labels["siamese", "paper"] == "Siamese" and labels["siamese", "auto"] == "Siamese auto"
        assert all(not method.options for method in one.methods)  # the paper's values, untouched


def test_editions_are_what_they_promise() -> None:
    smoke, cpu = ([c for one in listed() for s in one.settings if (c := s.case(e))] for e in ("smoke", "cpu"))
    assert {case.data for case in smoke} == {"digits"}
    assert len({(c.model, c.recipe, c.epochs, c.views) for c in smoke}) == 3  # originals, shared by all experiments
    assert {(c.data, c.model, c.epochs, c.seeds) for c in cpu if c.model != "he-resnet8" or c.data == "cifar100"} == {
        ("cifar10", "he-resnet20", 12, 1),
        ("cifar100", "he-resnet8", 12, 1),
    }
    assert [one.settings[0].cpu.seeds for one in listed()[0:5:2] if one.settings[0].cpu] == [None] * 3
    assert all(s.paper.epochs is None and s.paper.few == 1000 for one in listed() for s in one.settings if s.paper)


def test_siamese_is_drawn_in_the_plane_for_contrastive_views_alone() -> None:
    (one,) = find("analysis/tsne")
    drawn = [(setting.scenario, case.views) for setting, case, m in one.pairs("paper") if m.name == "siamese"]
    assert drawn == [("full-class", "contrastive"), ("sub-class", "contrastive"), ("random", "contrastive")]
    assert sum(m.name == "retrain" for _, _, m in one.pairs("smoke")) == 9


def test_budgets() -> None:
    (one,) = find("budget/cifar10")
    assert [m.few for m in one.methods if m.name == "scrub"] == [100, 1000, "all"]
    none = {m.name for m in one.methods if m.few == 0}
    assert none == {"neggrad", "boundary-shrink", "boundary-expand"}
    assert not any(find_method(name)().reads(forget=9, retain=9).get("retain") for name in none)
    (table,) = find("full-class/cifar10")
    by_label, case = {m.label: m for m in table.methods}, table.settings[0].smoke
    assert case is not None
    budgets = [by_label[label].budget(case) for label in ("Siamese", "Siamese matched", "Finetune")]
    assert budgets == [300, "all", None]


def test_options_of_an_edition_come_on_top() -> None:
    (one,) = find("ablation/terms")
    (ce,) = (m for m in one.methods if m.label == "CE")
    assert ce.chosen("paper") == {"kvc": 0.0, "permutation": "uniform"}
    assert ce.chosen("cpu") == {"kvc": 0.0, "permutation": "uniform", "lr": 1e-3}


def test_learning_rates_of_siamese_on_small_networks_are_said() -> None:
    for one in listed():
        rates = {m.chosen("cpu").get("lr") for m in one.methods if m.name == "siamese" and m.preset == "paper"}
        if one.id.startswith(("ablation", "analysis/tsne", "trajectory")):
            assert rates == {1e-3} or rates == {None}, one.id
            assert "1e-4" in one.note and "1e-3" in one.note, one.id


def test_with_whole_classes_forgotten_adaptive_and_uniform_labels_are_the_same_run() -> None:
    y, ratios = torch.randint(10, (500,), generator=torch.Generator().manual_seed(0)), torch.ones(10)
    adaptive, uniform = (permute(y, ratios, p, torch.Generator().manual_seed(1)) for p in ("paper", "uniform"))
    assert torch.equal(adaptive, uniform)


def test_find() -> None:
    assert find("all") == list(listed())
    assert [one.id for one in find("ablation")] == ["ablation/concentration", "ablation/terms", "ablation/views"]
    with pytest.raises(
        UsageError, match="No experiment 'full-class/cifar11'. Known, nearest first: full-class/cifar10"
    ):
        find("full-class/cifar11")
    with pytest.raises(InputRefused, match="There is no file nowhere.toml"):
        find("nowhere.toml")


def test_the_list_needs_no_torch() -> None:
    code = "import sys, sublimate.bench.experiments as e; e.listed(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_built_in_file_is_listed() -> None:
    folder = Path(experiments.__file__).with_name("experiments")
    assert {path.stem for path in folder.iterdir()} == {one.id.replace("/", "-") for one in listed()}
