"""`sublimate tune` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib

import pytest

from sublimate.checkpoint import load_checkpoint
from sublimate.trials import suggest


def tune_with(made, tmp_path, **changes):
    usual = {"model": made / "original.safetensors", "data": "digits", "forget": "class:3", "method": "siamese"}
    options = usual | {"budget": "3", "few": "200", "out": tmp_path / "tuned.toml"} | changes
    return ["tune", *(str(part) for key, value in options.items() for part in (f"--{key}", value))]


def test_a_method_that_needs_records_of_training_is_tuned_with_them(tmp_path, call):
    network, records = tmp_path / "recorded.safetensors", tmp_path / "kept.safetensors"
    code, _, err = call(
        "train", "--data", "digits", "--model", "small-cnn", "--epochs", "3", "--out", network,
        "--for", "amnesiac-true",
        "--watch", "id:6,7,8", "--records", records,
    )  # fmt: skip
    assert code == 0, err
    words = tune_with(tmp_path, tmp_path, model=network, method="amnesiac-true", forget="id:6,7", budget="2")
    assert call(*words)[0] == 3, "without its records"
    code, text, err = call(*words, "--records", records, "--set", "epochs=1", "--json")
    assert code == 0, err
    assert set(json.loads(text)["tried"][1]["options"]) == {"lr"}


def test_tune_then_erase(made, tmp_path, call):
    preset, reference = tmp_path / "tuned.toml", made / "retrain.safetensors"
    words = [*tune_with(made, tmp_path, reference=reference), "--set", "epochs=1"]
    code, text, err = call(*words, "--json")
    assert code == 0, err
    found = json.loads(text)
    assert found["best"] <= found["default"] and found["trials"] == len(found["tried"]) == 3
    assert found["tried"][0]["options"]["lr"] == 1e-4
    assert found["options"]["epochs"] == 1 and "epochs" not in found["tried"][0]["options"]
    written = tomllib.loads(preset.read_text())
    assert written["method"] == "siamese" and written["options"] == found["options"]
    assert written["tuned"]["few"] == 200 and len(written["tuned"]["reference"]) == 64
    assert written["tuned"]["split"] == load_checkpoint(reference).meta.split
    out = tmp_path / "erased.safetensors"
    code, _, err = call(
        "erase", "--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3", "--out", out,
        "--preset", preset, "--few", "200", "--no-evaluate",
    )  # fmt: skip
    assert code == 0, err
    used = load_checkpoint(out).meta.method["options"]
    assert {name: used[name] for name in found["options"]} == found["options"]

    before, shown = preset.read_bytes(), call(*words)  # nothing is tried again, and the table says what was found
    assert shown[0] == 0 and preset.read_bytes() == before
    prose = " ".join(shown[1].split())
    assert "0 (default)" in prose and "Use it with erase --method siamese --preset" in prose
    assert f"Distance to Retrain: {found['default']:.2f} with the default values, {found['best']:.2f} with" in prose


REFUSED = {
    "budget": ({"budget": "soon"}, 2, "'soon' is no budget"),
    "method": ({"method": "siamse"}, 2, "siamese"),
    "option": ({"set": "learning_rate=1"}, 2, "nearest first"),
    "value": ({"set": "epochs=-1"}, 3, "above 0"),
    "few": ({"few": "many"}, 2, "no number"),
    "class": ({"forget": "class:thre"}, 3, "No class 'thre'"),
    "folder": ({"out": "no/such/folder/tuned.toml"}, 5, "folder"),
    "trained on everything": ({"reference": "original.safetensors"}, 3, "trained on everything"),
    "other split": ({"reference": "retrain.safetensors", "forget": "class:4"}, 3, "belongs to split"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_cause_and_remedy(made, tmp_path, call, case):
    changes, code, words = REFUSED[case]
    if "reference" in changes:
        changes = changes | {"reference": made / changes["reference"]}
    found, _, err = call(*tune_with(made, tmp_path, **changes))
    assert found == code, err
    assert words in err.replace("\n", " ")
    assert not (tmp_path / "tuned.toml").exists()


def test_without_optuna(made, tmp_path, call, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = call(*tune_with(made, tmp_path))
    assert code == 2 and "pip install 'sublimate[tune]'" in err


def test_help_has_an_example(call):
    code, text, _ = call("tune", "--help")
    assert code == 0 and "Example" in text and "sublimate tune" in text


def killed(words, cache):
    """Start the command in a process of its own, and kill it once it has kept something."""
    environment, slots = os.environ | {"SUBLIMATE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}, cache / "store" / "slots"
    process = subprocess.Popen([sys.executable, "-m", "sublimate", *words], env=environment, stderr=subprocess.PIPE)
    while not (slots.exists() and list(slots.glob("[!.]*"))):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_killed_and_stopped_it_goes_on_to_the_same_preset(made, tmp_path, call, monkeypatch):
    words, preset = [*tune_with(made, tmp_path, budget="6"), "--set", "epochs=1"], tmp_path / "tuned.toml"
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "undisturbed"))
    assert call(*words)[0] == 0
    whole = preset.read_bytes()
    preset.unlink()
    monkeypatch.setenv("SUBLIMATE_CACHE", str(tmp_path / "cache"))
    killed([*words, "--threads", "1", "--budget", "100000"], tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(
            "sublimate.trials.suggest", lambda *asked: os.kill(os.getpid(), signal.SIGTERM) or suggest(*asked)
        )
        code, _, err = call(*words, "--budget", "100000")
    assert code == 75 and "the same command continues" in err.lower()
    assert not preset.exists()
    assert call(*words)[0] == 0
    assert preset.read_bytes() == whole
    assert len(list((tmp_path / "cache" / "store" / "slots").iterdir())) == 1  # the trials, and no weights
