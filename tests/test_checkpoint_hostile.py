"""Damaged and malicious files: refused with an error of ours, never believed, never executed."""

import builtins
import functools
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import zipfile
from collections import OrderedDict

import pytest
import safetensors.torch
import torch
from torch import nn

from sublimate.checkpoint import Meta, digest_of, load_checkpoint, save_checkpoint
from sublimate.errors import InputRefused, IntegrityError, SublimateError
from sublimate.files import sha256

META = Meta(architecture="small-cnn", classes=("a", "b"), channels=1, size=(8, 8), mean=(0.5,), std=(0.5,))


def state():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).state_dict()


def torch_bytes(content, legacy=False):
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=not legacy)
    return buffer.getvalue()


def our_bytes(tmp_path):
    save_checkpoint(tmp_path / "ours", state(), meta=META)
    return (tmp_path / "ours").read_bytes()


FORMATS = {
    "ours": our_bytes,
    "safetensors": lambda _: safetensors.torch.save(state(), {"mean": "0.5"}),
    "zip": lambda _: torch_bytes({"state_dict": state(), "epoch": 3}),
    "legacy": lambda _: torch_bytes({"state_dict": state(), "epoch": 3}, legacy=True),
}


def load(tmp_path, data):
    (tmp_path / "net.pt").write_bytes(data)
    return load_checkpoint(tmp_path / "net.pt")


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


# Damage


@pytest.mark.parametrize("form", FORMATS)
def test_a_truncated_file_is_found_at_every_cut(tmp_path, form):
    whole = FORMATS[form](tmp_path)
    assert digest_of(load(tmp_path, whole).state) == digest_of(state())
    cuts = {0, 1, 7, 8, 9, 10, len(whole) - 1, *random.Random(1).sample(range(len(whole)), 200)}
    for cut in cuts:
        with pytest.raises(IntegrityError if form != "legacy" else SublimateError):
            load(tmp_path, whole[:cut])


def test_no_flipped_bit_in_our_format_changes_weights_or_meta_unseen(tmp_path):
    whole, refused = our_bytes(tmp_path), 0
    header = 8 * (8 + int.from_bytes(whole[:8], "little"))
    rng = random.Random(2)
    bits = rng.sample(range(header), 200) + rng.sample(range(header, 8 * len(whole)), 150)
    for bit in bits:
        try:
            loaded = load(tmp_path, flipped(whole, bit))
        except SublimateError:
            refused += 1
            continue
        assert digest_of(loaded.state) == digest_of(state())
        assert loaded.meta is None  # only the name of our metadata was hit: the file counts as foreign
    assert refused >= len(bits) - 15


def test_every_flipped_bit_in_our_weights_is_an_integrity_error(tmp_path):
    whole = our_bytes(tmp_path)
    start = 8 * (8 + int.from_bytes(whole[:8], "little"))
    for bit in range(start, 8 * len(whole), 7):
        with pytest.raises(IntegrityError, match="differs from its digest"):
            load(tmp_path, flipped(whole, bit))


def test_no_flipped_bit_in_a_torch_archive_changes_weights_unseen(tmp_path):
    whole = FORMATS["zip"](tmp_path)
    for bit in random.Random(3).sample(range(8 * len(whole)), 300):
        try:
            loaded = load(tmp_path, flipped(whole, bit))
        except SublimateError:
            continue
        assert digest_of(loaded.state) == digest_of(state())


def test_flipped_bits_in_old_torch_files_never_escape_as_other_exceptions(tmp_path):
    whole = FORMATS["legacy"](tmp_path)
    for bit in random.Random(4).sample(range(8 * len(whole)), 300):
        try:
            load(tmp_path, flipped(whole, bit))
        except SublimateError:
            continue


def test_a_missing_seal_and_wrong_metadata_are_told(tmp_path):
    whole = our_bytes(tmp_path)
    with pytest.raises(IntegrityError):
        load(tmp_path, whole.replace(b'"digest"', b'"dagest"'))
    text = json.dumps({"architecture": "small-cnn", "classes": 3})
    seal = sha256(f"{digest_of(state())}\n{text}".encode())
    with pytest.raises(InputRefused, match="describes its network wrongly at 'classes'"):
        load(tmp_path, safetensors.torch.save(state(), {"sublimate": text, "digest": seal}))


@pytest.mark.parametrize(
    "data", [b"hello world, I am a text", b"\x89PNG\r\n\x1a\n" + b"\0" * 20, b"\x93NUMPY" + b"\1" * 20]
)
def test_other_files_are_no_checkpoints(tmp_path, data):
    with pytest.raises(InputRefused, match="is no checkpoint"):
        load(tmp_path, data)


# Malice


class Call:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class Network(nn.Linear):
    """A whole module, as careless people save it."""


def payloads(canary):
    touch, code = f"touch {canary}", f"open({str(canary)!r}, 'w').close()"
    return {
        "system": Call(os.system, touch),
        "popen": Call(subprocess.check_output, ["touch", str(canary)]),
        "eval": Call(builtins.eval, code),
        "exec": Call(builtins.exec, code),
        "open": Call(builtins.open, str(canary), "w"),
        "copy": Call(shutil.copyfile, __file__, str(canary)),
        "partial": Call(functools.partial(os.system, touch)),
        "inner": Call(pickle.loads, pickle.dumps(Call(os.system, touch))),
    }


NAMES = list(payloads("canary"))
PLACES = {
    "top": lambda call: call,
    "beside": lambda call: {"state_dict": state(), "epoch": call},
    "inside": lambda call: {"state_dict": OrderedDict(state(), extra=call)},
    "deep": lambda call: [{"model": [{"deep": (call,)}]}],
}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_malicious_pickles_are_refused_and_nothing_runs(tmp_path, name, place, legacy):
    canary = tmp_path / "canary"
    data = torch_bytes(PLACES[place](payloads(canary)[name]), legacy)
    with pytest.raises(InputRefused, match=r"without running code of it \(it asks for .*state_dict\(\)"):
        load(tmp_path, data)
    assert not canary.exists()
    torch.load(io.BytesIO(data), weights_only=False)
    assert canary.exists()  # the payload was a live one


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_bare_pickles_are_refused_and_nothing_runs(tmp_path, protocol):
    canary = tmp_path / "canary"
    for name in NAMES:
        with pytest.raises(InputRefused):
            load(tmp_path, pickle.dumps(payloads(canary)[name], protocol=protocol))
    assert not canary.exists()


def test_the_environment_cannot_open_the_unsafe_door(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(InputRefused):
        load(tmp_path, torch_bytes(payloads(tmp_path / "canary")["system"]))
    assert not (tmp_path / "canary").exists()


def test_a_torch_with_known_holes_reads_no_pickles(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion("2.9.1+cpu"))
    with pytest.raises(InputRefused, match=r"torch 2\.9\.1\+cpu cannot read pickled files"):
        load(tmp_path, torch_bytes(state()))
    load(tmp_path, safetensors.torch.save(state()))


@pytest.mark.parametrize("legacy", [False, True])
def test_whole_modules_are_refused_with_the_remedy(tmp_path, legacy):
    with pytest.raises(InputRefused, match=r"Network\)\. Save `model\.state_dict\(\)`"):
        load(tmp_path, torch_bytes(Network(2, 2), legacy))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_and_other_archives_are_refused(tmp_path):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)), buffer)
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("../../evil.py", "print()")
    for data in (buffer.getvalue(), plain.getvalue()):
        with pytest.raises(InputRefused, match="is an archive, but not of a state dict"):
            load(tmp_path, data)


def test_zip_bombs_are_refused_before_they_unfold(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}.")
        archive.writestr("archive/data/0", b"")
    data = bytearray(buffer.getvalue())
    size_field = data.rindex(b"PK\x01\x02") + 24
    data[size_field : size_field + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(InputRefused, match="unfolds far beyond its size"):
        load(tmp_path, bytes(data))


def test_archives_of_too_many_entries_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sublimate.checkpoint.pickles._MOST_ENTRIES", 5)
    with pytest.raises(InputRefused, match="unfolds far beyond its size"):
        load(tmp_path, torch_bytes(state()))


def test_tensors_that_unfold_are_refused(tmp_path):
    with pytest.raises(InputRefused, match="unfold far beyond its size"):
        load(tmp_path, torch_bytes({"w": torch.zeros(1).expand(2**20, 2**20)}))


# Tensors we do not work on


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.eye(3).to_sparse(), "sparse"),
        (lambda: torch.eye(3).to_sparse_csr(), "sparse"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8), "of type quint8"),
        (lambda: torch.ones(3, device="meta"), "without values"),
        (lambda: torch.ones(3, dtype=torch.complex64), "of type complex64"),
        (lambda: torch.ones(3).to(torch.float8_e4m3fn), "of type float8_e4m3fn"),
    ],
)
def test_tensors_that_are_not_dense_numbers_are_refused(tmp_path, make, words):
    with pytest.raises(InputRefused, match=f"Tensor 'odd' of net.pt is {words}"):
        load(tmp_path, torch_bytes({"w": torch.ones(2), "odd": make()}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_first_non_finite_tensor_is_named(tmp_path, value, dtype):
    bad = {"a": torch.ones(2), "b": torch.tensor([[1.0, value]], dtype=dtype), "c": torch.tensor(value)}
    for data in (torch_bytes({"net": bad}), torch_bytes(bad, legacy=True), safetensors.torch.save(bad)):
        with pytest.raises(InputRefused, match=r"Tensor '[bc]' of net\.pt holds NaN or infinite values"):
            load(tmp_path, data)


# Contents that are no state dict


class Crafted:
    """Pickles as an OrderedDict whose attributes hide its methods."""

    def __reduce__(self):
        attributes = {"items": 3, "keys": 4, "values": 5, "_metadata": {"": {"version": torch.ones(2)}}}
        return OrderedDict, (), attributes, None, iter(state().items())


@pytest.mark.parametrize("content", [Crafted(), {"state_dict": Crafted()}])
def test_attributes_cannot_hide_the_content(tmp_path, content):
    loaded = load(tmp_path, torch_bytes(content))
    assert digest_of(loaded.state) == digest_of(state()) and loaded.layout.versions is None


def endless():
    loop = []
    loop.append(loop)
    return {"state_dict": state(), "loop": loop}


def test_endless_containers_are_dropped(tmp_path):
    assert load(tmp_path, torch_bytes(endless())).layout.dropped == ("loop",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (torch.ones(2), "holds a Tensor, not a state dict"),
        ([torch.ones(2)], "holds a list, not a state dict"),
        ({}, "holds no state dict, only nothing"),
        ({"state_dict": {}, "epoch": 3}, "holds no state dict, only 'epoch', 'state_dict'"),
        ({"generator": {"state_dict": {"w": torch.ones(2)}}}, "holds no state dict, only 'generator'"),
        ({0: torch.ones(2)}, "holds no state dict, only 0"),
        (
            {"net": {"w": torch.ones(2), "_extra_state": {"a": 1}}},
            "Not all of 'net' in net.pt are tensors: '_extra_state'",
        ),
    ],
)
def test_contents_without_a_state_dict_are_described(tmp_path, content, words):
    with pytest.raises(InputRefused, match=words):
        load(tmp_path, torch_bytes(content))


def test_safetensors_without_tensors_are_refused(tmp_path):
    with pytest.raises(InputRefused, match="holds no tensors"):
        load(tmp_path, safetensors.torch.save({}))
