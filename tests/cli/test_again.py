"""A second request: what was forgotten first is not taught again, and is left out of every figure."""

from __future__ import annotations

import json

import pytest
from safetensors.torch import save_file

from sublimate.checkpoint import load_checkpoint
from sublimate.data.sources import load
from sublimate.forgotten import recognised
from sublimate.inference import accuracy, predict
from sublimate.networks import open_network
from sublimate.splits import Part, split

FAST = ("--set", "lr=1e-3", "--few", "200", "--no-evaluate", "--quiet")


def erase(call, model, request, out, *more):
    args = ("erase", "--model", model, "--data", "digits", "--forget", request, "--out", out)
    return call(*args, *FAST, *more)


@pytest.fixture
def first(made, tmp_path, call):
    """A network that has forgotten class 3."""
    code, _, err = erase(call, made / "original.safetensors", "class:3", tmp_path / "first.safetensors")
    assert code == 0, err
    return tmp_path / "first.safetensors"


def left_of(path, name):
    """Accuracy on the training records of a class."""
    network = open_network(path, load("digits"))
    rows = split(network.data, f"class:{name}").forget
    part = Part(network.data, rows, "class")
    return accuracy(predict(network.model, part), part.labels)


def test_a_second_erasure_does_not_teach_the_first_again(tmp_path, call):
    original, first, second = (tmp_path / f"{name}.safetensors" for name in ("original", "first", "second"))
    assert call("train", "--data", "digits", "--model", "small-cnn", "--out", original, "--quiet")[0] == 0
    erasing = ("erase", "--model", original, "--data", "digits", "--forget", "class:3", "--out", first, "--quiet")
    assert call(*erasing, "--no-evaluate")[0] == 0
    code, out, err = call(
        "erase", "--model", first, "--data", "digits", "--forget", "class:4", "--out", second, "--no-evaluate",
    )  # fmt: skip
    assert code == 0, err
    assert "forgotten earlier: 147 records" in " ".join(out.split())
    assert left_of(second, 3) < 5 and left_of(second, 4) < 5
    data = load("digits")
    meta = load_checkpoint(second).meta
    assert recognised(meta.forgotten, data.ids) == tuple(
        data.ids[row] for row in range(data.sizes[0]) if int(data.labels[row]) in (3, 4)
    )
    assert meta.split != split(data, "class:4").fingerprint


def test_the_second_is_evaluated_audited_and_tuned_without_the_first(made, first, tmp_path, call):
    second, retrain = tmp_path / "second.safetensors", tmp_path / "retrain.safetensors"
    code, _, err = erase(call, first, "class:4", second)
    assert code == 0, err
    code, _, err = call(
        "train", "--data", "digits", "--model", "small-cnn", "--epochs", "1", "--forget", "class:4", "--exclude",
        "class:3", "--out", retrain, "--quiet",
    )  # fmt: skip
    assert code == 0, err
    wanted = load_checkpoint(second).meta.split
    assert load_checkpoint(retrain).meta.split == wanted
    words = ("--data", "digits", "--forget", "class:4", "--json")
    for models in ((second,), (first, second), (second, first)):
        told = [part for model in models for part in ("--model", model)]
        code, text, err = call("evaluate", *told, "--reference", retrain, *words)
        assert code == 0, err
        found = json.loads(text)
        assert found["split"] == wanted and found["n"]["retain"] == 1437 - 147 - found["n"]["forget"]
    code, text, err = call("evaluate", "--model", first, *words)
    assert code == 0 and json.loads(text)["split"] == wanted, err
    code, text, err = call("audit", "--model", second, "--original", first, "--reference", retrain, *words)
    assert code in (0, 7, 8) and json.loads(text)["split"] == wanted, err
    code, _, err = call("evaluate", "--model", made / "original.safetensors", "--model", second, *words)
    assert code == 0, err


def test_the_first_request_is_evaluated_as_before(made, first, call):
    words = ("--data", "digits", "--forget", "class:3", "--json")
    for models in ((first,), (made / "original.safetensors", first), (made / "original.safetensors",)):
        told = [part for model in models for part in ("--model", model)]
        code, text, err = call("evaluate", *told, *words)
        assert code == 0, err
        assert json.loads(text)["split"] == split(load("digits"), "class:3").fingerprint


def test_what_was_forgotten_earlier_cannot_be_asked_for_again(first, tmp_path, call):
    row = int((load("digits").labels == 3).nonzero()[0])
    for request, words in (("class:3", "not forgotten earlier"), (f"id:{row}", f"Records {row} are excluded")):
        code, _, err = erase(call, first, request, tmp_path / "never.safetensors")
        assert code == 3 and words in err.replace("\n", " ")
        assert not (tmp_path / "never.safetensors").exists()


def test_a_foreign_file_is_told_by_exclude(made, tmp_path, call):
    model = tmp_path / "foreign.safetensors"
    save_file(load_checkpoint(made / "retrain.safetensors").state, model)
    out = tmp_path / "out.safetensors"
    code, _, err = erase(call, model, "class:4", out, "--exclude", "class:3", "--arch", "small-cnn")
    assert code == 0, err
    data = load("digits")
    excluded = [data.ids[int(row)] for row in split(data, "class:3").forget]
    meta = load_checkpoint(out).meta
    assert meta.split == split(data, "class:4", exclude=excluded).fingerprint
    assert set(excluded) <= set(recognised(meta.forgotten, data.ids))


def test_exclude_needs_a_request(made, tmp_path, call):
    code, _, err = call(
        "evaluate", "--model", made / "original.safetensors", "--data", "digits", "--exclude", "class:3"
    )
    assert code == 2 and "--exclude" in err
