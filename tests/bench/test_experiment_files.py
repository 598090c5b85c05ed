from __future__ import annotations

import re
from pathlib import Path

import pytest

from sublimate.bench.copies import copy, dump
from sublimate.bench.experiments import find, load
from sublimate.errors import InputRefused, SublimateError, UsageError

OWN = """
id = "mine"
title = "Digits"
[[settings]]
scenario = "full-class"
smoke = { data = "digits", request = "class:3", model = "small-cnn", recipe = "fast", views = "none", few = 300 }
[[methods]]
name = "siamese"
label = "Tuned"
preset = "tuned.toml"
"""
SETTING = OWN[OWN.index("[[settings") : OWN.index("[[methods")]
PART = f"""{SETTING.replace("full-class", "random").replace("class:3", "random@5%")}[[methods]]
name = "boundary-shrink"
label = "Shrink"
[[methods]]"""
PRESET = 'method = "siamese"\n[options]\nlr = 1e-2\n'


def _own(folder: Path, text: str) -> str:
    (folder / "tuned.toml").write_text(PRESET)
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    return str(folder / "mine.toml")


def test_a_file_of_ones_own_and_its_copy(tmp_path: Path) -> None:
    (one,) = find(_own(tmp_path, OWN))
    assert (one.id, one.kind, one.methods[0].audited, one.folder) == ("mine", "scores", True, tmp_path)
    dump([one], tmp_path / "results")
    kept = copy("mine", tmp_path / "results")
    assert kept.text == OWN and kept.model_dump() == one.model_dump()
    assert (kept.folder / kept.methods[0].preset).read_text() == PRESET
    (again,) = find(str(tmp_path / "results" / "mine" / "the experiment.toml"))
    assert again.text == OWN  # it runs from there too


def test_there_is_no_retrain_of_a_network_that_somebody_else_trained(tmp_path: Path) -> None:
    (tmp_path / "theirs.pt").touch()
    text = OWN + '[[methods]]\nname = "retrain"\nlabel = "Retrain"\n'
    (one,), (given,) = (
        find(_own(tmp_path, t)) for t in (text, text.replace("few = 300", 'few = 300, original = "theirs.pt"'))
    )
    assert [m.name for _, _, m in one.pairs("smoke")] == ["siamese", "retrain"]
    assert [m.name for _, _, m in given.pairs("smoke")] == ["siamese"]


REFUSED = {  # what is written in place of what, and what the refusal names
    "broken": ("[[settings]]", "[[settings", r"mine.toml is no TOML: .*line 4"),
    "deep": ("few = 300", "few = " + "[" * 5000, r"is no TOML"),
    "unknown key": ('title = "Digits"', 'title = "Digits"\nrun = "rm"', r"no key run. Allowed there: id, title"),
    "unknown key in a case": ("few = 300", "few = 300, fwe = 1", r"no key settings\[1\].smoke.fwe. .* data, request"),
    "unknown key in a setting": ("smoke =", "smok =", r"no key settings\[1\].smok. Allowed there: scenario, smoke"),
    "unknown key in a method": ("label =", "lable = 'x'\nlabel =", r"no key methods\[1\].lable. .* set, editions, few"),
    "missing": ('label = "Tuned"', "", r"methods\[1\].label is missing"),
    "no methods": (OWN[OWN.index("[[methods") :], "", r"the key methods is missing"),
    "kind": ('title = "Digits"', 'title = "Digits"\nkind = "x"', r"kind does not fit. .*'scores', 'curve', 'kl' or"),
    "measure": ('title = "Digits"', 'title = ""\nmeasures = ["speed"]', r"does not fit"),
    "path as an id": ('"mine"', '"../mine"', r"id does not fit. An id is made of"),
    "escape": ('"Digits"', r'"\u001b[2J"', r"title does not fit. Only printable"),
    "text for a number": ("few = 300", 'few = "300"', r"settings\[1\].smoke.few"),
    "true for a number": ("few = 300", "few = true", r"settings\[1\].smoke.few"),
    "none retained": ("few = 300", "few = 0", r"settings\[1\].smoke.few"),
    "infinite": ("preset =", 'reported.full-class = { mia = inf }\npreset =', r"reported.full-class.mia does not fit"),
    "reported": ("preset =", "reported.random = { mia = 1.0 }\npreset =", r"Reported names the setting 'random'"),
    "preset elsewhere": ("tuned.toml", "../tuned.toml", r"methods\[1\].preset does not fit. A preset is auto"),
    "same label": ("[[methods]]", '[[methods]]\nname="ssd"\nlabel="Tuned"\n[[methods]]', r"Two methods have the label"),
    "no edition": (re.search("smoke.*", OWN)[0], "", r"settings\[1\] does not fit. A setting needs at least one of"),
    "same setting": ("[[methods]]", f"{SETTING}[[methods]]", r"same scenario, data, model and views"),
    "no such preset": ("tuned.toml", "other.toml", r"methods\[1\]: There is no preset"),
    "method": ('"siamese"', '"siamesse"', r"methods\[1\]: No method 'siamesse'. Known, nearest first: siamese"),
    "code as a method": ('"siamese"', '"os:abort"', r"methods\[1\]: No method 'os:abort'"),
    "kept": ("[[methods]]", '[[methods]]\nname="sisa"\nlabel="S"\n[[methods]]', r": sisa needs what was kept"),
    "not defined": ("[[methods]]", PART, r"methods\[1\]: boundary-shrink is not defined for the scenario random"),
    "option": ("preset =", "set = { rate = 1 }\npreset =", r"methods\[1\]: No option of siamese 'rate'"),
    "value": ("preset =", "editions.cpu = { lr = -1.0 }\npreset =", r"methods\[1\]: The option lr cannot be -1.0"),
    "model": ('"small-cnn"', '"os:abort"', r"settings\[1\].smoke: No model 'os:abort'"),
    "data": ('"digits"', '"os:abort"', r"settings\[1\].smoke: No data set 'os:abort'. .*digits"),
    "view": ('"none"', '"cutoff"', r"settings\[1\].smoke: No view 'cutoff'. Known, nearest first: cutout"),
    "recipe": ('"fast"', '"quick"', r"settings\[1\].smoke: No recipe 'quick'"),
    "request": ("class:3", "digit:3", r"settings\[1\].smoke: The request 'digit:3' cannot be read"),
    "scenario": ("class:3", "random@5%", r"smoke: The request 'random@5%' is not of the scenario full-class"),
    "original": ("few = 300", 'few = 300, original = "x.pt"', r"settings\[1\].smoke: There is no file .*x.pt"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_with_file_and_key(what: str, tmp_path: Path) -> None:
    old, new, message = REFUSED[what]
    assert old in OWN
    with pytest.raises(SublimateError, match=message) as refused:
        find(_own(tmp_path, OWN.replace(old, new, 1)))
    assert str(tmp_path / "mine.toml") in str(refused.value)
    assert isinstance(refused.value, InputRefused | UsageError)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputRefused, match="is not a text file"):
        load(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('contaminated.random = "it saw D_f."', "ontaminated names the setting 'random'"),
        ('remarks = [{ text = "x", settings = ["random"] }]', "remark names the setting 'random'"),
        ('remarks = [{ text = "x", labels = ["Else"] }]', "remark names the label 'Else'"),
        ('remarks = [{ text = "x", measures = ["accuracy"] }]', r"remarks\[1\].measures\[1\] does not fit"),
        ('remarks = [{ text = "x", label = "Tuned" }]', r"no key remarks\[1\].label. Allowed there: text, measures"),
    ],
)
def test_remarks_on_what_is_not_there_are_refused(more: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=says):
        find(_own(tmp_path, f"{more}\n{OWN}"))
