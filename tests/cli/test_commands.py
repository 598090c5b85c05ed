"""The commands as a user types them, in one process (a process per call would mostly import torch)."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import OrderedDict

import numpy as np
import pytest
import torch
import typer
from safetensors.torch import load_file, save_file

from sublimate import cli
from sublimate.checkpoint import load_checkpoint
from sublimate.models.registry import build


@pytest.mark.parametrize("name", typer.main.get_command(cli.app).commands)
def test_every_command_takes_what_is_taken_everywhere(name):
    known = {option for one in typer.main.get_command(cli.app).commands[name].params for option in one.opts}
    assert {"--seed", "--threads", "--device", "--json", "--quiet"} <= known


def test_env_says_what_a_run_would_use(call):
    threads = torch.get_num_threads()
    try:
        code, out, _ = call("env", "--threads", "1", "--device", "cpu", "--json")
    finally:
        torch.set_num_threads(threads)
    assert code == 0
    assert (json.loads(out)["threads"], json.loads(out)["device"]) == (1, "cpu")
    assert call("env", "--device", "gpu")[0] == 2


def test_train_says_what_it_made(made, call):
    meta = load_checkpoint(made / "original.safetensors").meta
    assert (meta.architecture, meta.classes, meta.split) == ("small-cnn", tuple("0123456789"), None)
    assert meta.recipe["epochs"] == 3
    assert meta.versions["torch"] == torch.__version__
    assert load_checkpoint(made / "retrain.safetensors").meta.split is not None


def test_erase_evaluate_end_to_end(made, tmp_path, call):
    out = tmp_path / "erased.safetensors"
    code, text, err = call(
        "erase", "--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3", "--out", out,
        "--set", "lr=1e-3", "--few", "200", "--json",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(text)
    assert set(found) >= {"out", "sha256", "split", "before", "after", "seconds", "samples", "stopped", "choices"}
    assert found["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert found["after"]["acc_df"] <= 1 < 90 < found["before"]["acc_df"]
    assert found["choices"]["permutation"] == "retained"
    code, text, err = call(
        "evaluate", "--model", made / "original.safetensors", "--model", out, "--data", "digits", "--forget", "class:3",
        "--reference", made / "retrain.safetensors", "--json",
    )  # fmt: skip
    assert code == 0, err
    report = json.loads(text)
    assert report["split"] == found["split"]
    assert report["n"] == {"forget": 147, "retain": 1290, "test_forget": 36, "test_retain": 324}
    assert [m["model"] for m in report["models"]] == [str(made / "original.safetensors"), str(out)]
    assert report["models"][1]["acc_df"] == found["after"]["acc_df"]
    assert report["models"][1]["gap"]["ta_df"] == 0
    meta = load_checkpoint(out).meta
    assert meta.split == found["split"]
    assert meta.parent is not None
    assert meta.method["options"]["lr"] == 1e-3


def test_evaluate_without_forget_gives_the_test_accuracy(made, call):
    code, text, _ = call("evaluate", "--model", made / "original.safetensors", "--data", "digits", "--json")
    assert code == 0
    (only,) = json.loads(text)["models"]
    assert set(only) == {"model", "ta"} and only["ta"] > 80


def test_records_have_no_class_figures(made, call):
    model = made / "original.safetensors"
    code, text, _ = call("evaluate", "--model", model, "--data", "digits", "--forget", "random@10%", "--json")
    assert code == 0
    found = json.loads(text)["models"][0]
    assert found["ta_dr"] is None and found["ta_df"] is None and found["mia"] is not None and found["gap"] is None


def test_dry_run_writes_nothing(made, tmp_path, call):
    out = tmp_path / "never.safetensors"
    code, text, _ = call(
        "erase", "--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3,7", "--out", out,
        "--dry-run", "--json",
    )  # fmt: skip
    facts = json.loads(text)
    assert code == 0 and not out.exists()
    assert facts["rows"]["3"] == [147, 147]
    assert facts["images"] > 0 and facts["minutes"] >= 0 and facts["megabytes"] > 0


@pytest.mark.parametrize(("method", "warned"), [("gkt", False), ("boundary-shrink", False), ("finetune", True)])
def test_a_dry_run_asks_only_for_records_that_are_read(made, tmp_path, call, method, warned):
    words = ("--data", "digits", "--forget", "class:3", "--method", method, "--few", "1", "--dry-run", "--json")
    code, text, err = call("erase", "--model", made / "original.safetensors", "--out", tmp_path / "never", *words)
    assert code == 0 and json.loads(text)["images"] > 0, err
    assert any("raise --few" in warning for warning in json.loads(text)["warnings"]) is warned


def test_preset_file(made, tmp_path, call):
    preset = tmp_path / "mine.toml"
    preset.write_text('method = "siamese"\n[options]\nlr = 0.002\nepochs = 1\n')
    out = tmp_path / "erased.safetensors"
    code, _, err = call(
        "erase", "--model", made / "original.safetensors", "--data", "digits", "--forget", "class:3", "--out", out,
        "--preset", preset, "--json",
    )  # fmt: skip
    assert code == 0, err
    assert load_checkpoint(out).meta.method["options"]["lr"] == 0.002


LAYOUTS = {
    "bare.pt": lambda s: s,
    "state_dict.pth": lambda s: {"state_dict": s, "epoch": 7},
    "model.pt": lambda s: {"model": s},
    "net.th": lambda s: {"net": s, "acc": 0.9},
    "parallel.pt": lambda s: OrderedDict((f"module.{k}", v) for k, v in s.items()),
    "nested-parallel.th": lambda s: {"state_dict": OrderedDict((f"module.{k}", v) for k, v in s.items())},
}


@pytest.mark.parametrize("name", [*LAYOUTS, "bare.safetensors"])
def test_foreign_layouts_come_back_as_they_were(made, tmp_path, call, name):
    state = OrderedDict(load_checkpoint(made / "original.safetensors").state)
    path, out = tmp_path / name, tmp_path / f"erased-{name}"
    if name.endswith("safetensors"):
        save_file(state, path)
    else:
        torch.save(LAYOUTS[name](state), path)
    code, _, err = call(
        "erase", "--model", path, "--data", "digits", "--forget", "class:3", "--out", out, "--preset", "paper",
        "--set", "lr=1e-3", "--set", "epochs=1", "--arch", "small-cnn", "--no-evaluate",
    )  # fmt: skip
    assert code == 0, err
    model = build("small-cnn", 10, channels=1, size=8)
    if name.endswith("safetensors"):
        model.load_state_dict(load_file(out), strict=True)
        return
    found = torch.load(out, weights_only=True)
    for key in ("state_dict", "model", "net"):
        if key in LAYOUTS[name](state):
            found = found[key]
    wrapped = torch.nn.DataParallel(model) if "parallel" in name else model
    wrapped.load_state_dict(found, strict=True)
    assert any(not torch.equal(a, b) for a, b in zip(model.state_dict().values(), state.values(), strict=True))


def erase_with(made, tmp_path, **changes):
    usual = {"model": made / "original.safetensors", "data": "digits", "forget": "class:3"}
    options = usual | {"out": tmp_path / "out.safetensors"} | changes
    return ["erase", *(part for key, value in options.items() for part in (f"--{key}", value))]


def foreign(made, tmp_path):
    path = tmp_path / "foreign.safetensors"
    save_file(load_checkpoint(made / "original.safetensors").state, path)
    return path


REFUSED = {
    "class": ({"forget": "class:thre"}, 3, "No class 'thre'"),
    "id": ({"forget": "id:99999"}, 3, "No record id '99999'"),
    "request": ({"forget": "klass:3"}, 3, "cannot be read"),
    "share": ({"forget": "random@0%"}, 3, "between 0 and 100"),
    "everything": ({"forget": "random@100%"}, 3, "forgets everything"),
    "ids file": ({"forget": "ids:nowhere.txt"}, 3, "no file"),
    "data": ({"data": "digit"}, 2, "nearest first: digits"),
    "method": ({"method": "siamse"}, 2, "siamese"),
    "option": ({"set": "learning_rate=1"}, 2, "nearest first"),
    "value": ({"set": "lr=-1"}, 3, "above 0"),
    "word": ({"set": "lr=fast"}, 3, "cannot be 'fast'"),
    "pair": ({"set": "lr"}, 2, "names no value"),
    "choice": ({"set": "permutation=papr"}, 3, "permutation"),
    "view": ({"set": "views=simpel"}, 2, "nearest first: simple"),
    "preset": ({"preset": "nowhere.toml"}, 2, "no preset"),
    "few": ({"few": "many"}, 2, "no number"),
    "few zero": ({"few": "0"}, 3, "too small"),
    "mean alone": ({"mean": "0.5"}, 2, "Only one of"),
    "mean text": ({"mean": "a,b", "std": "1,1"}, 3, "no list of numbers"),
    "mean channels": ({"mean": "0.5,0.5,0.5", "std": "1,1,1"}, 3, "channels"),
    "arch": ({"arch": "resnet19"}, 2, "resnet18"),
    "arch import": ({"arch": "nowhere:net"}, 3, "cannot be imported"),
    "wrong arch": ({"arch": "he-resnet8"}, 3, "with --arch, or the data"),
    "missing model": ({"model": "nowhere.safetensors"}, 3, "nowhere.safetensors"),
    "device": ({"device": "abacus"}, 2, "device"),
    "cuda": ({"device": "cuda"}, 5, "cuda"),
    "threads": ({"threads": "0"}, 2, "threads"),
    "folder": ({"out": "no/such/folder/out.safetensors"}, 5, "folder"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_cause_and_remedy(made, tmp_path, call, case):
    changes, code, words = REFUSED[case]
    if case == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    if "arch" in changes or "mean" in changes:  # which describe files that are not ours
        changes = {"model": foreign(made, tmp_path)} | changes
    found, _, err = call(*erase_with(made, tmp_path, **changes))
    assert found == code, err
    assert words in err.replace("\n", " ")
    assert len(err.strip().splitlines()) >= 2  # a cause and a remedy
    assert not (tmp_path / "out.safetensors").exists()


def test_the_original_is_never_overwritten(made, tmp_path, call):
    code, _, err = call(*erase_with(made, tmp_path, out=made / "original.safetensors"))
    assert code == 3 and "read by this very command" in err


def test_truncated_and_foreign_files(made, tmp_path, call):
    whole = (made / "original.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    assert call(*erase_with(made, tmp_path, model=tmp_path / "cut.safetensors"))[0] == 4
    flipped = bytearray(whole)
    flipped[-100] ^= 1
    (tmp_path / "flip.safetensors").write_bytes(flipped)
    assert call(*erase_with(made, tmp_path, model=tmp_path / "flip.safetensors"))[0] == 4
    (tmp_path / "notes.txt").write_text("hello")
    assert call(*erase_with(made, tmp_path, model=tmp_path / "notes.txt"))[0] in (3, 4)


class Malice:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_malicious_file_runs_nothing(made, tmp_path, call):
    torch.save({"state_dict": Malice(tmp_path / "owned")}, tmp_path / "evil.pt")
    assert call(*erase_with(made, tmp_path, model=tmp_path / "evil.pt"))[0] == 3
    assert not (tmp_path / "owned").exists()


def test_data_that_does_not_fit(made, tmp_path, call):
    x = np.zeros((40, 8, 8, 3), np.uint8)
    np.savez(tmp_path / "colour.npz", x_train=x, y_train=np.arange(40) % 10, x_test=x, y_test=np.arange(40) % 10)
    code, _, err = call(*erase_with(made, tmp_path, data=tmp_path / "colour.npz"))
    assert code == 3, err
    grey = x[..., 0]
    np.savez(tmp_path / "many.npz", x_train=grey, y_train=np.arange(40) % 20, x_test=grey, y_test=np.arange(40) % 20)
    code, _, err = call(*erase_with(made, tmp_path, data=tmp_path / "many.npz"))
    assert code == 3, err
    bright = grey.astype(np.float32)
    bright[0, 0, 0] = np.nan
    np.savez(tmp_path / "nan.npz", x_train=bright, y_train=np.arange(40) % 10, x_test=grey, y_test=np.arange(40) % 10)
    assert call(*erase_with(made, tmp_path, data=tmp_path / "nan.npz"))[0] == 3


def test_non_finite_weights(made, tmp_path, call):
    state = load_checkpoint(made / "original.safetensors").state
    state["linear.bias"][0] = float("nan")
    save_file(state, tmp_path / "nan.safetensors")
    code, _, err = call(*erase_with(made, tmp_path, model=tmp_path / "nan.safetensors"))
    assert code == 3 and "linear.bias" in err


def test_different_splits_are_not_compared(made, call):
    model, reference = made / "original.safetensors", made / "retrain.safetensors"
    code, _, err = call(
        "evaluate", "--model", model, "--reference", reference, "--data", "digits", "--forget", "class:4"
    )
    assert code == 3 and "split" in err


def test_what_has_seen_the_forgotten_records_is_no_reference(made, tmp_path, call):
    original, erased = made / "original.safetensors", tmp_path / "out.safetensors"
    code, _, err = call(*erase_with(made, tmp_path), "--reference", original)
    assert code == 3 and "original.safetensors was trained on everything" in err and not erased.exists()
    assert call(*erase_with(made, tmp_path))[0] == 0
    compare = ("evaluate", "--model", original, "--data", "digits", "--forget", "class:3", "--reference")
    for reference, words in ((original, "was trained on everything"), (erased, "was made by siamese")):
        code, _, err = call(*compare, reference)
        assert code == 3 and f"{reference.name} {words}" in err


def test_a_foreign_reference_is_taken_at_its_word(made, tmp_path, call):
    save_file(load_checkpoint(made / "retrain.safetensors").state, tmp_path / "foreign.safetensors")
    words = ("--data", "digits", "--forget", "class:3", "--arch", "small-cnn")
    code, _, err = call(
        "evaluate", "--model", made / "original.safetensors", "--reference", tmp_path / "foreign.safetensors", *words
    )
    assert code == 0, err


def test_a_ruined_run_writes_nothing(made, tmp_path, call):
    out = tmp_path / "out.safetensors"
    code, _, err = call(*erase_with(made, tmp_path, preset="paper"), "--set", "lr=1000")
    assert code == 6 and not out.exists(), err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission(made, tmp_path, call):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert call(*erase_with(made, tmp_path, out=closed / "out.safetensors"))[0] == 5


def test_env(call):
    code, text, _ = call("env", "--json")
    assert code == 0 and json.loads(text)["versions"]["torch"] == torch.__version__


@pytest.mark.parametrize("command", ["demo", "train", "erase", "evaluate", "env"])
def test_help_has_an_example(call, command):
    code, text, _ = call(command, "--help")
    assert code == 0 and "Example" in text and f"sublimate {command}" in text


def test_usage_errors(call):
    assert call("erase")[0] == 2
    assert call("sublime")[0] == 2
    assert call("env", "--jsno")[0] == 2
    assert call("--version")[1].startswith("sublimate 0.")


def test_a_network_of_other_classes_gets_a_note(made, call):
    code, out, _ = call("evaluate", "--model", made / "original.safetensors", "--data", "fashion-mini")
    assert code == 0 and "other names than fashion-mini has, say '0' for" in " ".join(out.split())


def test_demo_into_a_file_is_refused(tmp_path, call):
    (tmp_path / "taken").write_text("a file")
    code, _, err = call("demo", "--out", tmp_path / "taken")
    assert code == 5 and "taken is a file, not a folder" in " ".join(err.split())


SISA, AMNESIAC = "sublimate.unlearn.sisa:Sisa", "sublimate.unlearn.amnesiac_true:AmnesiacTrue"
RECORDED = ["train", "--data", "digits", "--model", "small-cnn", "--epochs", "3", "--quiet"]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """A digits ensemble for SISA and its records, and the same trained without record 7."""
    folder = tmp_path_factory.mktemp("sharded")
    for name, extra in (("original", []), ("never", ["--forget", "id:7"])):
        kept = ["--records", str(folder / f"{name}.records"), "--for", "sisa", "--shards", "3", "--slices", "2"]
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
            patch.setattr(
                "sys.argv", ["sublimate", *RECORDED, *kept, "--out", str(folder / f"{name}.safetensors"), *extra]
            )
            cli.main()
        assert not stop.value.code
    return folder


def erase_recorded(made, tmp_path, **changes):
    usual = {"method": SISA, "records": made / "original.records", "records-out": tmp_path / "new.records"}
    return erase_with(made, tmp_path, **({"forget": "id:7"} | usual | changes))


def test_sisa_erases_one_record_as_if_never_seen(sharded, tmp_path, call):
    code, text, err = call(*erase_recorded(sharded, tmp_path), "--json")
    assert code == 0, err
    assert len(json.loads(text)["choices"]["retrained"]) == 1
    erased, never = (load_checkpoint(p) for p in (tmp_path / "out.safetensors", sharded / "never.safetensors"))
    assert erased.meta.architecture == never.meta.architecture == "sisa:3:small-cnn"
    assert erased.meta.split == never.meta.split
    assert all(torch.equal(erased.state[key], never.state[key]) for key in never.state)
    assert (tmp_path / "new.records").read_bytes() == (sharded / "never.records").read_bytes()
    code, text, err = call("evaluate", "--model", tmp_path / "out.safetensors", "--data", "digits", "--json")
    assert code == 0 and json.loads(text)["models"][0]["ta"] > 60, err


def test_sisa_again_with_the_new_records(sharded, tmp_path, call):
    changes = {"model": sharded / "never.safetensors", "records": sharded / "never.records", "forget": "id:11"}
    code, _, err = call(*erase_recorded(sharded, tmp_path, **changes), "--no-evaluate")
    assert code == 0, err
    code, _, err = call(*erase_recorded(sharded, tmp_path, **(changes | {"forget": "id:7"})), "--no-evaluate")
    assert code == 3 and "Records 7 are excluded" in err


RECORDS_REFUSED = {
    "no records": ({"records": None}, 3, "needs what was kept at training time"),
    "other network": ({"model": "never"}, 3, "belong to another network"),
    "missing": ({"records": "nowhere"}, 3, "no file"),
    "foreign": ({"records": "original.safetensors"}, 3, "no records of training"),
    "other method": ({"method": AMNESIAC}, 3, "kept for sisa"),
    "few": ({"few": "100"}, 3, "few=\"all\""),
    "overwritten": ({"records-out": "original.records"}, 3, "read by this very command"),
}  # fmt: skip


@pytest.mark.parametrize("case", RECORDS_REFUSED)
def test_records_that_do_not_fit_are_refused(sharded, tmp_path, call, case):
    changes, code, words = RECORDS_REFUSED[case]
    if case == "other network":
        changes = {"model": sharded / "never.safetensors", "forget": "id:11"}
    elif case in ("foreign", "overwritten"):
        changes = {key: sharded / value for key, value in changes.items()}
    args = erase_recorded(sharded, tmp_path, **changes)
    if changes.get("records", 0) is None:
        del args[args.index("--records") : args.index("--records") + 2]
    for more in ("--no-evaluate", "--dry-run")[: 1 if case == "few" else 2]:  # only a run counts what was kept
        found, _, err = call(*args, more)
        assert found == code and words in err.replace("\n", " "), err
        assert not (tmp_path / "out.safetensors").exists()


def test_amnesiac_true_end_to_end(tmp_path, call):
    kept = {"--records": tmp_path / "kept.records", "--out": tmp_path / "original.safetensors", "--watch": "id:6,7,8"}
    code, _, err = call(*RECORDED, "--for", "amnesiac-true", *(part for pair in kept.items() for part in pair))
    assert code == 0, err
    changes = {"method": AMNESIAC, "records": tmp_path / "kept.records", "forget": "id:6,7"}
    code, text, err = call(*erase_recorded(tmp_path, tmp_path, **changes), "--json")
    assert code == 0, err
    assert 3 <= json.loads(text)["choices"]["updates_subtracted"] <= 6  # of three epochs
    assert (tmp_path / "new.records").stat().st_size < (tmp_path / "kept.records").stat().st_size
    code, _, err = call(*erase_recorded(tmp_path, tmp_path, **(changes | {"forget": "id:9"})))
    assert code == 3 and "not watched" in err


def test_train_with_records_names_what_is_missing(tmp_path, call):
    args = [*RECORDED, "--out", tmp_path / "out.safetensors"]
    assert "Only one of" in call(*args, "--for", "sisa")[2]
    assert "Only one of" in call(*args, "--records", tmp_path / "kept")[2]
    for option, value in {"--shards": "3", "--slices": "2", "--watch": "class:3"}.items():
        code, _, err = call(*args, option, value)
        assert code == 2 and f"{option} says how records are kept" in err
    assert "--watch" in call(*args, "--records", tmp_path / "kept", "--for", "amnesiac-true")[2]
    assert "nearest first: sisa" in call(*args, "--records", tmp_path / "kept", "--for", "siza")[2]
    assert not list(tmp_path.iterdir())
