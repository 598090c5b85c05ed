"""Methods by name, by `module:Class`, by entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

import sublimate.unlearn as unlearn
from sublimate.errors import UsageError
from sublimate.unlearn import METHODS, find, method, methods
from sublimate.unlearn.finetune import Finetune

DESIGNED = [
    "original",
    "retrain",
    "siamese",
    "siamese-matched",
    "finetune",
    "neggrad",
    "neggrad-plus",
    "randlab",
    "badt",
    "scrub",
    "ssd",
    "amnesiac",
    "amnesiac-true",
    "fisher",
    "influence",
    "boundary-shrink",
    "boundary-expand",
    "unsir",
    "salun",
    "l1-sparse",
    "sisa",
    "gkt",
]


def test_all_methods_of_the_design_are_there_in_its_order():
    assert list(METHODS) == DESIGNED
    assert all(name == cls.name for name, cls in METHODS.items())


def test_a_method_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "own_way.py").write_text(
        "from sublimate.unlearn.finetune import Finetune\nclass Own(Finetune):\n    name = 'own'\n"
    )
    monkeypatch.chdir(tmp_path)
    assert method("own_way:Own", lr=0.5).lr == 0.5


@pytest.mark.parametrize(
    ("name", "says"),
    [("fintune", "finetune"), ("no_such_module:Own", "No module"), ("math:pi", "no method"), ("math:", "imported")],
)
def test_refusals(name, says):
    with pytest.raises(UsageError, match=says):
        find(name)


def test_an_installed_package_registers_a_method(monkeypatch):
    point = EntryPoint("theirs", "sublimate.unlearn.finetune:Finetune", "sublimate.methods")
    monkeypatch.setattr(unlearn, "entry_points", lambda group: [point] if group == "sublimate.methods" else [])
    assert find("theirs") is Finetune
    assert methods()[-1] == "theirs"
