"""`train --canaries`: the file names them, and every later command sees the same table."""

from __future__ import annotations

import json

import pytest

from sublimate.canaries import plant
from sublimate.checkpoint import load_checkpoint, save_checkpoint
from sublimate.data import load
from sublimate.networks import open_network

TRAIN = ("train", "--data", "digits", "--model", "small-cnn", "--epochs", "2", "--canaries", "20")


@pytest.fixture
def planted(tmp_path, call):
    """A digits network trained with canaries of seed 3, and what the command said."""
    out = tmp_path / "original.safetensors"
    code, text, err = call(*TRAIN, "--seed", "3", "--out", out, "--json")
    assert code == 0, err
    return out, json.loads(text), " ".join(err.split())


def test_the_file_and_the_output_name_the_canaries(planted):
    out, said, prose = planted
    data, canaries = plant(load("digits"), 20, seed=3)
    assert load_checkpoint(out).meta.recipe["canaries"] == canaries.facts
    ids = out.with_name("original.canaries.txt")
    assert said["canaries"] == str(ids) and tuple(ids.read_text().split()) == canaries.ids
    assert said["samples"] == 2 * (1437 + 10)
    assert "10 of 20 canaries" in prose and "Training small-cnn on 1447 records" in prose
    network = open_network(out, load("digits"))
    assert network.data.fingerprint == data.fingerprint and network.data.ids[-10:] == canaries.ids
    assert open_network(out, network.data).data.fingerprint == data.fingerprint  # a table that holds them already


def test_an_audit_takes_the_seed_of_the_canaries_from_the_file(planted, call):
    original, _, _ = planted
    request = f"ids:{original.with_name('original.canaries.txt')}"
    options = ("--model", original, "--original", original, "--data", "digits", "--forget", request, "--json")
    code, text, err = call("audit", *options)  # its own seed is 0, that of the training was 3
    assert code in (7, 8), err
    found = json.loads(text)
    assert any(test["name"] == "Canaries, pairs" and test["n_forget"] == 10 for test in found["tests"])


def test_erase_and_evaluate_see_the_same_table(planted, tmp_path, call):
    original, _, _ = planted
    request = f"ids:{original.with_name('original.canaries.txt')}"
    erased, retrain = tmp_path / "erased.safetensors", tmp_path / "retrain.safetensors"
    code, text, err = call(
        "erase", "--model", original, "--data", "digits", "--forget", request, "--out", erased, "--method", "retrain",
        "--preset", "paper", "--set", "recipe=fast", "--set", "epochs=2", "--json",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(text)
    assert "10 of the training records are canaries" in " ".join(err.split())
    assert found["split"] == load_checkpoint(erased).meta.split
    assert load_checkpoint(erased).meta.recipe["canaries"] == load_checkpoint(original).meta.recipe["canaries"]
    code, text, err = call(*TRAIN, "--seed", "3", "--forget", request, "--out", retrain, "--json")
    assert code == 0, err
    assert json.loads(text)["split"] == found["split"] and json.loads(text)["samples"] == 2 * 1437
    code, text, err = call(
        "evaluate", "--model", original, "--model", erased, "--reference", retrain, "--data", "digits",
        "--forget", request, "--json",
    )  # fmt: skip
    assert code == 0, err
    report = json.loads(text)
    assert report["n"]["forget"] == 10 and report["n"]["retain"] == 1437 and report["split"] == found["split"]
    assert report["models"][0]["acc_df"] == found["before"]["acc_df"]
    assert report["models"][0]["acc_dr"] == found["before"]["acc_dr"]


def test_a_network_without_canaries_is_not_measured_beside_one_with(planted, made, call):
    model = made / "original.safetensors"
    code, _, err = call("evaluate", "--model", planted[0], "--model", model, "--data", "digits", "--forget", "class:3")
    assert code == 3 and "not trained with the same canaries" in " ".join(err.split())


def test_the_data_of_other_networks_has_none(made):
    assert open_network(made / "original.safetensors", load("digits")).data.sizes == (1437, 360, 0)


def test_data_that_cannot_give_them_again_is_used_without(planted, tmp_path):
    checkpoint = load_checkpoint(planted[0])
    checkpoint.meta.recipe["canaries"]["digest"] = "of other records"
    other = tmp_path / "other.safetensors"
    save_checkpoint(other, checkpoint.state, meta=checkpoint.meta)
    network = open_network(other, load("digits"))
    assert network.data.sizes == (1437, 360, 0)
    assert "left out" in " ".join(network.notes) and "not those of the training" in " ".join(network.notes)


def test_an_odd_number_is_refused_before_anything_is_trained(tmp_path, call):
    out = tmp_path / "never.safetensors"
    code, _, err = call(*TRAIN[:-1], "7", "--out", out)
    assert code == 3 and "even number" in " ".join(err.split()) and not list(tmp_path.iterdir())
