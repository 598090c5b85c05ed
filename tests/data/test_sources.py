import sys

import numpy as np
import pytest

from sublimate.data import Data, load
from sublimate.data.sources import SOURCES
from sublimate.errors import InputRefused, IntegrityError, UsageError

TOY = """
import torch
from sublimate.data import Data
from sublimate.errors import IntegrityError
def good(): return Data.from_dataset((torch.zeros(2, 1, 4, 4), torch.tensor([0, 1])), name="mine")
def other(): return [1, 2]
def broken(): raise KeyError("no column")
def leaving(): raise SystemExit(0)
def wordy(): raise ValueError("one line\\nand another")
def typed(): raise IntegrityError("The table is cut off.", "Copy it again.")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_source", raising=False)
    (tmp_path / "toy_source.py").write_text(TOY)
    yield tmp_path
    sys.modules.pop("toy_source", None)


def test_a_function_in_the_current_directory_is_called(here):
    before = list(sys.path)
    assert load("toy_source:good").name == "mine"
    assert sys.path == before


@pytest.mark.parametrize("function", ["other", "broken", "absent", "leaving", ""])
def test_a_function_that_gives_no_data_is_refused_by_its_name(here, function):
    before = list(sys.path)
    with pytest.raises(InputRefused, match=f"toy_source:{function}"):
        load(f"toy_source:{function}")
    assert sys.path == before


def test_what_a_function_raises_is_told_in_one_line(here):
    with pytest.raises(InputRefused) as refused:
        load("toy_source:wordy")
    assert refused.value.cause == "toy_source:wordy failed: ValueError: one line."


def test_a_typed_error_of_the_function_keeps_its_own_words(here):
    with pytest.raises(IntegrityError, match="cut off"):
        load("toy_source:typed")


def test_a_module_that_is_not_there_is_refused(here):
    with pytest.raises(InputRefused, match="no_such_module"):
        load("no_such_module:f")


def test_an_unknown_name_lists_the_known_ones_and_the_other_ways(here):
    with pytest.raises(UsageError) as caught:
        load("cifar1O")
    assert all(name in caught.value.remedy for name in [*SOURCES, ".npz", "folder", "module:function"])
    assert caught.value.remedy.index("cifar10") < caught.value.remedy.index("digits")


@pytest.mark.parametrize("path", ["no/such/folder", "gone.npz"])
def test_a_path_that_leads_nowhere_is_refused_as_a_path(here, path):
    with pytest.raises(InputRefused, match=path):
        load(path)


def test_a_path_is_told_from_a_name(here):
    rows = {"x_train": np.zeros((2, 4, 4), np.uint8), "y_train": np.array([0, 1])}
    np.savez(here / "digits.npz", **rows)
    assert load("digits.npz").sizes == load(here / "digits.npz").sizes == (2, 0, 0)
    (here / "digits").mkdir()
    assert load("digits").sizes == (1437, 360, 0)  # a folder of that name is reached as ./digits
    with pytest.raises(InputRefused, match="train/<class>"):
        load("./digits")


@pytest.mark.parametrize("name", ["digits", "toy_source:good"])
def test_only_folders_are_resized(here, name):
    with pytest.raises(UsageError, match="resized"):
        load(name, size=16)


def test_root_reaches_the_sets_that_lie_on_disk(here):
    with pytest.raises(InputRefused, match="somewhere"):
        load("cifar100", root=here / "somewhere")


def test_the_package_exports_both_names():
    assert load("digits").__class__ is Data
