from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sublimate.bench.experiments import Experiment, find, listed, load
from sublimate.bench.kinds import file_name
from sublimate.bench.results import Audited, Points, Results, Row, Timing, read, to_lines, write
from sublimate.errors import InputRefused
from sublimate.files import rewrite
from sublimate.unlearn.presets import read_preset

ROW: dict[str, Any] = {
    "kind": "scores", "experiment": "full-class/cifar10", "edition": "cpu", "scenario": "full-class", "data": "cifar10",
    "model": "he-resnet8", "views": "simple", "request": "class:automobile,cat,truck", "method": "siamese",
    "label": "Siamese", "preset": "paper", "options": {"lr": 0.0001, "permutation": "paper"}, "choices": {"alpha": 6},
    "few": 1000, "seed": 0,
    "seeds": {"train": 0, "unlearn": 0, "evaluate": 0}, "split": "9f", "versions": {"torch": "2.13.0"}, "device": "cpu",
    "n": {"forget": 15000, "retain": 35000, "few": 1000, "test": 10000, "control": 8000},
    "figures": {"acc_dr": 99.1, "acc_df": 0.0, "ta": None, "samples": 90000}, "epoch": None,
    "gap": {"acc_dr": 0.1, "mia": -3.2}, "average_gap": 0.9, "tow": 0.97, "classes": {"airplane": 93.1},
    "confusion": {"automobile": {"truck": 41.2}},
    "audit": {"verdict": "FAIL", "tier": 1, "reasons": ["a trace"], "auc": 0.53, "low": 0.52, "high": 0.54},
    "failed": None, "stopped": "all epochs done", "command": "sublimate erase --data cifar10",
    "key": "5c",
}  # fmt: skip
WHERE: dict[str, Any] = {
    "edition": "cpu", "scenario": "full-class", "data": "cifar10", "model": "he-resnet8", "views": "simple",
    "label": "Siamese", "seed": 0,
}  # fmt: skip
TIMING = Timing(
    experiment="full-class/cifar10", **WHERE, seconds=12.5, threads=1, device="cpu", host="here", at="2026-01-01"
)
POINTS = Points(experiment="analysis/tsne", **WHERE, points=((0.25, -1.5, 0, 9), (3.0, 4.0, 1, 0)))


def _row(**changes: Any) -> Row:
    return Row.model_validate_json(json.dumps(ROW | changes))


def _results() -> Results:
    rows = (_row(experiment="analysis/tsne", kind="tsne", figures={}, audit=None), _row(), _row(few="all", seed=1))
    return Results(rows, (TIMING,), (POINTS,), {one.id: one for one in find("all")})


def test_written_read_and_written_again_is_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a", _results())
    found = read(tmp_path / "a")
    write(tmp_path / "b", found)
    names = ("rows.jsonl", "timings.jsonl", "points.jsonl", "experiments/full-class-cifar10.toml")
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)
    assert (found.rows, found.timings, found.points) == (_results().rows, (TIMING,), (POINTS,))


def test_experiments_come_in_the_order_of_the_rows_and_only_those_that_have_some(tmp_path: Path) -> None:
    write(tmp_path, _results())
    found = read(tmp_path).experiments
    assert list(found) == ["analysis/tsne", "full-class/cifar10"]
    assert found["analysis/tsne"].text == find("analysis/tsne")[0].text


def test_a_line_is_json_with_sorted_keys_and_numbers_as_they_were() -> None:
    line = to_lines([_row()])
    assert line == json.dumps(ROW, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    assert b'"samples":90000' in line and b'"acc_df":0.0' in line and b'"ta":null' in line


@given(
    value=st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53), st.none()),
    name=st.text(),
)
def test_figures_and_names_of_any_kind_come_back(value: float | None, name: str) -> None:
    row = Row.model_validate(ROW | {"figures": {"mia": value}, "label": name, "audit": None})
    line = to_lines([row])
    assert line.count(b"\n") == 1
    assert Row.model_validate_json(line) == row and to_lines([Row.model_validate_json(line)]) == line


DAMAGED = {
    "cut": (b'{"kind": "sco', "line 2: Invalid JSON"),
    "empty": (b"", "line 2: Invalid JSON"),
    "a list": (b"[]", "line 2: Input should be"),
    "not text": (b"\xff\xfe", "line 2: Invalid JSON"),
    "unknown key": (json.dumps(ROW | {"speed": 1}).encode(), "line 2: speed: Extra inputs are not permitted"),
    "missing key": (json.dumps({k: v for k, v in ROW.items() if k != "seed"}).encode(), "line 2: seed: Field required"),
    "not a number": (b"%s" % json.dumps(ROW).encode().replace(b"99.1", b"NaN"), "line 2: figures.acc_dr"),
    "text for a number": (json.dumps(ROW | {"seed": "0"}).encode(), "line 2: seed"),
    "a path as an id": (json.dumps(ROW | {"experiment": "../../x"}).encode(), "line 2: experiment: Value error"),
    "verdict": (json.dumps(ROW | {"audit": {"verdict": "OK", "tier": 1}}).encode(), "line 2: audit.verdict"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_lines_are_refused_with_their_place(what: str, tmp_path: Path) -> None:
    line, message = DAMAGED[what]
    write(tmp_path, _results())
    good = to_lines([_row()])
    (tmp_path / "rows.jsonl").write_bytes(good + line + b"\n" + good)
    with pytest.raises(InputRefused, match=f"rows.jsonl, {message}"):
        read(tmp_path)


def test_timings_and_points_may_be_missing_but_not_damaged(tmp_path: Path) -> None:
    write(tmp_path, _results())
    (tmp_path / "timings.jsonl").unlink()
    assert read(tmp_path).timings == ()
    (tmp_path / "points.jsonl").write_text('{"points": [[0, 0, 0]]}\n')
    with pytest.raises(InputRefused, match=r"points.jsonl, line 1: "):
        read(tmp_path)


def test_a_folder_without_results_and_one_without_its_experiments(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=r"holds no rows.jsonl. Give a folder that sublimate bench has written"):
        read(tmp_path)
    write(tmp_path, _results())
    (tmp_path / "experiments" / "analysis-tsne.toml").unlink()
    with pytest.raises(InputRefused, match=r"There is no file .*analysis-tsne.toml"):
        read(tmp_path)


def test_rows_are_read_only_and_what_json_has_no_word_for_is_not_written() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        _row().seed = 1  # type: ignore[misc]
    with pytest.raises(InputRefused, match="cannot be written as JSON"):
        to_lines([Row.model_validate(ROW | {"options": {"lr": float("nan")}, "audit": None})])


def test_reasons_are_a_tuple_also_from_json() -> None:
    audit = _row().audit
    assert isinstance(audit, Audited) and audit.reasons == ("a trace",)


@pytest.mark.parametrize("survivors", range(3))
def test_a_write_that_dies_leaves_no_row_without_what_belongs_to_it(
    survivors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [survivors]

    def dies(path: Path, data: bytes) -> None:
        if path.suffix == ".jsonl":
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
        rewrite(path, data)

    monkeypatch.setattr("sublimate.bench.results.rewrite", dies)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, _results())
    assert not (tmp_path / "rows.jsonl").exists()
    monkeypatch.undo()
    write(tmp_path, _results())
    assert (read(tmp_path).timings, read(tmp_path).points) == ((TIMING,), (POINTS,))


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    write(tmp_path, _results())
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    host = re.sub(r"[^\w-]", "-", platform.node())
    names = ("rows.jsonl", "timings.jsonl", "points.jsonl", "experiments/analysis-tsne.toml")
    for name in names:
        path = tmp_path / name
        path.with_name(f".{path.name}.{host}.{int(gone.stdout)}.00000000.partial").touch()
    write(tmp_path, _results())
    assert not list(tmp_path.rglob("*.partial"))


IDS = ("own/a", "own-a", "own/a-b", "own-a/b", "own-a-b", "full-class-cifar10", "full/class-cifar10", "runtime")


def test_no_two_ids_share_a_file_name() -> None:
    names = {file_name(one) for one in (*IDS, *(e.id for e in listed()))}
    assert len(names) == len(set(IDS) | {e.id for e in listed()})
    assert [file_name(e.id) for e in listed()] == [e.id.replace("/", "-") for e in listed()]


OWN = """
id = "{id}"
title = "Mine"
[[settings]]
scenario = "full-class"
cpu = {{ data = "cifar10", request = "class:cat", model = "he-resnet8", recipe = "fast", views = "simple", few = 9 }}
[[methods]]
name = "siamese"
label = "Siamese"
preset = "{preset}"
"""


def _own(folder: Path, id: str, lr: float | None = None) -> Experiment:
    folder.mkdir(exist_ok=True)
    (folder / "p.toml").write_text(f'method = "siamese"\n[options]\nlr = {lr}\n')
    (folder / "own.toml").write_text(OWN.format(id=id, preset="p.toml" if lr else "paper"))
    return load(folder / "own.toml")


def test_copies_with_presets_of_one_name_and_ids_alike_are_kept_apart(tmp_path: Path) -> None:
    mine = [_own(tmp_path / str(n), id, lr) for n, (id, lr) in enumerate((("own/a", 0.1), ("own-a", 0.2)))]
    write(tmp_path / "out", Results(tuple(_row(experiment=e.id) for e in mine), experiments={e.id: e for e in mine}))
    found = read(tmp_path / "out").experiments
    assert [one.id for one in found.values()] == ["own/a", "own-a"]
    values = [read_preset(one.folder / "p.toml", "siamese")["lr"] for one in found.values()]
    assert values == [0.1, 0.2]


def test_a_copy_follows_its_experiment_when_it_gains_or_loses_a_preset(tmp_path: Path) -> None:
    for lr in (None, 0.1, None):
        one = _own(tmp_path / "mine", "own/a", lr)
        write(tmp_path / "out", Results((_row(experiment="own/a"),), experiments={"own/a": one}))
        assert read(tmp_path / "out").experiments["own/a"].text == one.text
    assert not (tmp_path / "out" / "experiments" / "own-a" / "the experiment.toml").exists()
