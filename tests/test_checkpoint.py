"""Checkpoints come back as they were, in the layout they came in, and fit or say why not."""

import itertools
import json
import os
import struct
import subprocess
import sys
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from safetensors import safe_open
from torch import nn

from sublimate.checkpoint import Checkpoint, Layout, Meta, digest_of, fit, load_checkpoint, save_checkpoint
from sublimate.errors import InputRefused
from sublimate.files import sha256

META = Meta(
    architecture="small-cnn",
    classes=("cat", "dög"),
    channels=3,
    size=(8, 8),
    mean=(0.5, 0.1, 0.25),
    std=(0.2, 0.3, 0.4),
    flip=False,
    recipe={"lr": 0.1, "epochs": 3},
    split="ab" * 32,
    method={"name": "siamese", "lam": 1.0},
    versions={"torch": "2.13.0"},
)
NESTS = (None, "state_dict", "model", "net", "model_state_dict", "weights")
PREFIXES = ("", "module.", "_orig_mod.", "module._orig_mod.")


def network(width=4):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.Flatten(), nn.Linear(width, 2)).eval()


def equal(a, b):
    same = lambda x, y: x.dtype == y.dtype and torch.equal(x, y)  # noqa: E731
    return list(a) == list(b) and all(same(a[key], b[key]) for key in a)


def prefixed(state, prefix):
    renamed = OrderedDict((prefix + key, tensor) for key, tensor in state.items())
    renamed._metadata = state._metadata
    return renamed


def changed(state):
    return {key: tensor + 1 for key, tensor in state.items()}


# Ours


def test_our_file_brings_back_everything(tmp_path):
    state = network().state_dict()
    digest = save_checkpoint(tmp_path / "a.safetensors", state, meta=META)
    loaded = load_checkpoint(str(tmp_path / "a.safetensors"))
    assert loaded.meta == META
    assert loaded.digest == digest == sha256(tmp_path / "a.safetensors")
    assert loaded.normalisation == ((0.5, 0.1, 0.25), (0.2, 0.3, 0.4))
    assert equal(dict(sorted(loaded.state.items())), dict(sorted(state.items())))
    assert loaded.layout.dropped == () and loaded.layout.metadata == {}
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_our_file_is_plain_safetensors_with_canonical_metadata(tmp_path):
    state = network().state_dict()
    save_checkpoint(tmp_path / "a.safetensors", state, meta=META)
    network(4).load_state_dict(safetensors.torch.load_file(tmp_path / "a.safetensors"), strict=True)
    with safe_open(tmp_path / "a.safetensors", "pt") as file:
        metadata = file.metadata()
    text = metadata["sublimate"]
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert metadata == {"sublimate": text, "digest": sha256(f"{digest_of(state)}\n{text}".encode())}


ANOTHER_PROCESS = """
import sys, torch
from tests_checkpoint import LAYOUT, META, network
from sublimate.checkpoint import save_checkpoint
for path in sys.argv[1:]:
    print(save_checkpoint(path, network().state_dict(), meta=META, layout=LAYOUT))
"""
LAYOUT = Layout(
    kind="torch",
    dtypes={key: tensor.dtype for key, tensor in network().state_dict().items()},
    nest="state_dict",
    prefix="module.",
    entries={"epoch": 3, "arch": "net"},
    metadata=dict.fromkeys("abcdefgh", "x"),
)


def test_the_same_content_makes_the_same_bytes_in_any_process_and_under_any_name(tmp_path):
    state = network().state_dict()
    for suffix in (".pt", ".safetensors"):
        one = save_checkpoint(tmp_path / f"one{suffix}", state, meta=META, layout=LAYOUT)
        shuffled = dict(reversed([(key, tensor.clone()) for key, tensor in state.items()]))
        assert save_checkpoint(tmp_path / f"two{suffix}", shuffled, meta=META, layout=LAYOUT) == one
    (tmp_path / "tests_checkpoint.py").write_bytes(Path(__file__).read_bytes())
    child = subprocess.run(
        [sys.executable, "-c", ANOTHER_PROCESS, tmp_path / "far.pt", tmp_path / "far.safetensors"],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
    )
    assert child.stdout.split() == [sha256(tmp_path / "one.pt"), sha256(tmp_path / "one.safetensors")], child.stderr


def test_the_digest_of_tensors_sees_names_types_shapes_and_bytes():
    base = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(3)}
    same = {"b": torch.tensor(3), "a": torch.tensor([[1.0, 9.0], [2.0, 9.0]])[:, 0]}
    by_hand = (
        b'["a", "torch.float32", [2]]' + struct.pack("<2f", 1, 2) + b'["b", "torch.int64", []]' + struct.pack("<q", 3)
    )
    assert digest_of(same) == digest_of(base) == sha256(by_hand)
    others = [
        {"a": torch.tensor([1.0, 2.0]), "c": torch.tensor(3)},
        {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3])},
        {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(3, dtype=torch.int32)},
        {"a": torch.tensor([1.0, -2.0]), "b": torch.tensor(3)},
        {"a": torch.tensor([1.0, 2.0])},
        {"a": torch.tensor([-0.0]), "b": torch.tensor(3)},
        {"a": torch.tensor([0.0]), "b": torch.tensor(3)},
    ]
    assert len({digest_of(state) for state in [base, *others]}) == len(others) + 1


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_tied_and_odd_strided_weights_are_written_whole(tmp_path, suffix):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.one, self.two = nn.Linear(5, 5, bias=False), nn.Linear(5, 5, bias=False)
            self.two.weight = self.one.weight

    module = Tied().to(memory_format=torch.channels_last)
    state = module.state_dict() | {"view": torch.arange(10_000.0).view(100, 100).t()[:2, ::50]}
    layout = Layout(kind="torch", dtypes={key: tensor.dtype for key, tensor in state.items()})
    save_checkpoint(tmp_path / f"a{suffix}", state, meta=META, layout=layout)
    assert (tmp_path / f"a{suffix}").stat().st_size < 10_000  # not the memory behind the view
    loaded = load_checkpoint(tmp_path / f"a{suffix}").state
    assert digest_of(loaded) == digest_of(state)
    assert loaded.pop("view").tolist() == [[0.0, 5000.0], [1.0, 5001.0]]
    Tied().load_state_dict(loaded, strict=True)


def test_nothing_of_the_callers_is_changed(tmp_path):
    module = network()
    module.train()
    state, random_state = module.state_dict(), torch.get_rng_state()
    before = digest_of(state)
    save_checkpoint(tmp_path / "a.pt", state, meta=META, layout=LAYOUT)
    load_checkpoint(tmp_path / "a.pt")
    assert digest_of(module.state_dict()) == before
    assert module.training and all(p.requires_grad for p in module.parameters())
    assert torch.equal(torch.get_rng_state(), random_state)


# Foreign layouts


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(("nest", "prefix"), list(itertools.product(NESTS, PREFIXES)))
def test_a_torch_file_is_written_back_in_its_layout(tmp_path, nest, prefix, legacy):
    state = prefixed(network().state_dict(), prefix)
    content = state if nest is None else {"epoch": 7, nest: state, "arch": "net", "classes": ["a", None, 1.5, True]}
    torch.save(content, tmp_path / "in.pth.tar", _use_new_zipfile_serialization=not legacy)
    loaded = load_checkpoint(tmp_path / "in.pth.tar")
    assert (loaded.layout.kind, loaded.layout.nest, loaded.layout.prefix) == ("torch", nest, prefix)
    assert loaded.meta is None and loaded.normalisation is None
    assert equal(loaded.state, network().state_dict())

    save_checkpoint(tmp_path / "out.pth", changed(loaded.state), meta=META, layout=loaded.layout)
    written = torch.load(tmp_path / "out.pth", weights_only=True)
    inner = written if nest is None else written.pop(nest)
    assert equal(inner, {key: tensor + 1 for key, tensor in state.items()})
    assert inner._metadata == state._metadata
    assert nest is None or written == {"epoch": 7, "arch": "net", "classes": ["a", None, 1.5, True]}
    plain = OrderedDict((key.removeprefix(prefix), tensor) for key, tensor in inner.items())
    network().load_state_dict(plain, strict=True)


def test_the_code_of_a_data_parallel_user_loads_the_output(tmp_path):
    torch.save({"state_dict": nn.DataParallel(network()).state_dict(), "epoch": 1}, tmp_path / "in.pt")
    loaded = load_checkpoint(tmp_path / "in.pt")
    save_checkpoint(tmp_path / "out.pt", changed(loaded.state), meta=None, layout=loaded.layout)
    user = nn.DataParallel(network())
    user.load_state_dict(torch.load(tmp_path / "out.pt", weights_only=True)["state_dict"], strict=True)
    assert torch.equal(user.module[0].weight, network()[0].weight + 1)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_foreign_safetensors_keep_keys_and_metadata_and_get_ours(tmp_path, prefix):
    state = prefixed(network().state_dict(), prefix)
    foreign = {"family": "he", "mean": "(0.5, 0.6, 0.7)", "std": "0.1,0.2,0.3", "digest": "theirs"}
    safetensors.torch.save_file(state, tmp_path / "in", metadata=foreign)
    loaded = load_checkpoint(tmp_path / "in")
    assert loaded.meta is None and loaded.layout.metadata == foreign
    assert loaded.normalisation == ((0.5, 0.6, 0.7), (0.1, 0.2, 0.3))

    save_checkpoint(tmp_path / "out", changed(loaded.state), meta=META, layout=loaded.layout)
    written = safetensors.torch.load_file(tmp_path / "out")
    assert equal(written, {key: state[key] + 1 for key in written}) and written.keys() == state.keys()
    again = load_checkpoint(tmp_path / "out")
    assert again.meta == META and again.layout.prefix == prefix
    assert again.layout.metadata == {key: foreign[key] for key in ("family", "mean", "std")}
    assert again.normalisation == (META.mean, META.std)


def test_the_suffix_chooses_the_kind_and_flattens_where_it_must(tmp_path):
    torch.save({"net": prefixed(network().state_dict(), "module."), "epoch": 3}, tmp_path / "in.pt")
    layout = load_checkpoint(tmp_path / "in.pt").layout
    state = network().state_dict()
    save_checkpoint(tmp_path / "out.safetensors", state, meta=META, layout=layout)
    flat = safetensors.torch.load_file(tmp_path / "out.safetensors")
    assert flat.keys() == {f"module.{key}" for key in state}
    back = load_checkpoint(tmp_path / "out.safetensors").layout
    for suffix in (".pt", ".pth", ".TH", ".tar", ".bin"):
        save_checkpoint(tmp_path / f"back{suffix}", state, meta=META, layout=back)
        assert torch.load(tmp_path / f"back{suffix}", weights_only=True).keys() == flat.keys()
    save_checkpoint(tmp_path / "out.ckpt", state, meta=META, layout=layout)
    assert list(torch.load(tmp_path / "out.ckpt", weights_only=True)) == ["net", "epoch"]


def test_plain_entries_stay_and_what_may_hold_traces_is_dropped_by_name(tmp_path):
    module = network()
    content = {
        "ema": module.state_dict(),
        "epoch": 3,
        "best": torch.tensor(0.9),
        "optimizer": {"state": {}, "param_groups": [{"lr": 0.1, "params": [0, 1]}]},
        "losses": [1.0, 0.5],
        "batch": [torch.ones(2)],
        "model": module.state_dict(),
        "state_dict": module.state_dict(),
    }
    torch.save(content, tmp_path / "in.pt")
    layout = load_checkpoint(tmp_path / "in.pt").layout
    assert layout.nest == "state_dict"
    assert layout.entries == {"epoch": 3, "losses": [1.0, 0.5]}
    assert layout.dropped == ("ema", "best", "optimizer", "batch", "model")


def test_a_bare_state_dict_may_have_plain_neighbours(tmp_path):
    state = network().state_dict()
    torch.save({**state, "epoch": 3, "optimizer": {"lr": 0.1}}, tmp_path / "in.pt")
    loaded = load_checkpoint(tmp_path / "in.pt")
    assert equal(loaded.state, state)
    assert (loaded.layout.nest, loaded.layout.entries, loaded.layout.dropped) == (None, {"epoch": 3}, ("optimizer",))
    save_checkpoint(tmp_path / "out.pt", loaded.state, meta=None, layout=loaded.layout)
    written = torch.load(tmp_path / "out.pt", weights_only=True)
    assert written.pop("epoch") == 3 and equal(written, state)


def test_types_are_those_of_the_file_also_when_the_network_ran_in_another(tmp_path):
    torch.save(network().half().state_dict(), tmp_path / "in.pt")
    loaded = load_checkpoint(tmp_path / "in.pt")
    module = fit(network(), loaded)
    assert module[0].weight.dtype == torch.float32
    save_checkpoint(tmp_path / "out.pt", module.state_dict(), meta=None, layout=loaded.layout)
    assert equal(torch.load(tmp_path / "out.pt", weights_only=True), network().half().state_dict())


def test_parameters_are_read_as_tensors(tmp_path):
    torch.save(dict(network().named_parameters()), tmp_path / "in.pt")
    assert all(
        type(t) is torch.Tensor and not t.requires_grad for t in load_checkpoint(tmp_path / "in.pt").state.values()
    )


def test_what_has_other_keys_than_the_layout_is_not_written(tmp_path):
    state = network().state_dict()
    torch.save(state, tmp_path / "in.pt")
    layout = load_checkpoint(tmp_path / "in.pt").layout
    less = {key: tensor for key, tensor in state.items() if key != "3.bias"}
    for wrong in (less, {**state, "4.bias": torch.ones(1)}):
        with pytest.raises(InputRefused, match=r"do not fit the layout: '[34]\.bias'"):
            save_checkpoint(tmp_path / "out.pt", wrong, meta=None, layout=layout)
    assert os.listdir(tmp_path) == ["in.pt"]


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    with pytest.raises(InputRefused, match="Tensor 'w' of out holds NaN"):
        save_checkpoint(tmp_path / "out", {"w": torch.tensor([1.0, float("nan")])}, meta=META)
    assert os.listdir(tmp_path) == []


# Normalisation


def foreign(**metadata):
    return Checkpoint(state={}, meta=None, layout=Layout(kind="safetensors", metadata=metadata), digest="")


@pytest.mark.parametrize("text", ["0.25,0.5", "[0.25, 0.5]", "(0.25, 0.5)", " (0.25,0.5,) ", "2.5e-1, .5"])
def test_normalisation_is_read_with_and_without_brackets(text):
    assert foreign(mean=text, std=text).normalisation == ((0.25, 0.5), (0.25, 0.5))


def test_one_channel_and_none():
    assert foreign(mean="[0.5]", std="0.25").normalisation == ((0.5,), (0.25,))
    assert foreign().normalisation is None
    assert foreign(mean="0.5").normalisation is None
    ours = replace(META, mean=None, std=None)
    assert Checkpoint(state={}, meta=ours, layout=Layout(kind="safetensors"), digest="").normalisation is None


@pytest.mark.parametrize(
    ("mean", "std"), [("imagenet", "1"), ("1,2", "1"), ("1", "0"), ("nan", "1"), ("", ""), ("1", "-1")]
)
def test_a_normalisation_that_is_none_is_refused(mean, std):
    with pytest.raises(InputRefused, match="--mean and --std"):
        _ = foreign(mean=mean, std=std).normalisation


# Fitting


def load(tmp_path, state):
    torch.save(state, tmp_path / "in.pt")
    return load_checkpoint(tmp_path / "in.pt")


def test_fit_loads_all(tmp_path):
    module = network().train()
    other = changed(network().state_dict())
    assert fit(module, load(tmp_path, other)) is module
    assert equal(module.state_dict(), other) and module.training


def test_a_wrong_network_is_told_key_by_key_and_left_alone(tmp_path):
    loaded = load(tmp_path, {**network(4).state_dict(), "head.bias": torch.ones(1)})
    wider = nn.Sequential(*network(6), nn.Linear(2, 2))
    before = digest_of(wider.state_dict())
    with pytest.raises(InputRefused) as error:
        fit(wider, loaded)
    assert "missing: '4.weight', '4.bias'; unexpected: 'head.bias'; shapes" in error.value.cause
    assert "'0.weight' 4x3x3x3 against 6x3x3x3, '0.bias' 4 against 6" in error.value.cause
    assert "'1.running_mean' 4 against 6 and 2 more" in error.value.cause
    assert "--arch" in error.value.remedy
    assert digest_of(wider.state_dict()) == before


def test_counters_that_old_files_lack_are_neither_demanded_nor_added(tmp_path):
    old = {key: tensor + 1 for key, tensor in network().state_dict().items() if "num_batches" not in key}
    loaded = load(tmp_path, old)
    module = fit(network(), loaded)
    assert int(module[1].num_batches_tracked) == 0 and torch.equal(module[1].weight, old["1.weight"])
    save_checkpoint(tmp_path / "out.pt", module.state_dict(), meta=None, layout=loaded.layout)
    assert equal(torch.load(tmp_path / "out.pt", weights_only=True), old)


def test_modules_learn_how_old_their_weights_are(tmp_path):
    versions = []

    class Versioned(nn.Linear):
        _version = 3

        def _load_from_state_dict(self, state, prefix, local_metadata, *args):
            versions.append(local_metadata.get("version"))
            super()._load_from_state_dict(state, prefix, local_metadata, *args)

    for module in (Versioned(2, 2), nn.Sequential(Versioned(2, 2))):
        fit(module, load(tmp_path, module.state_dict()))
        fit(module, load(tmp_path, nn.DataParallel(module).state_dict()))
        fit(module, load(tmp_path, dict(module.state_dict())))
    assert versions == [3, 3, None] * 2


def test_a_module_that_fails_in_its_own_way_is_an_error_of_ours(tmp_path):
    state = network().state_dict()
    state._metadata["1"] = {"version": "never"}
    with pytest.raises(InputRefused, match="The network refused the checkpoint"):
        fit(network(), load(tmp_path, state))


# Real public files


def shared_checkpoints():
    data = os.environ.get("SUBLIMATE_DATA")
    shared = Path(data).parent if data else Path(__file__).parents[2] / "shared"
    return sorted((shared / "checkpoints").glob("*.safetensors"))


@pytest.mark.skipif(not shared_checkpoints(), reason="the shared folder with public checkpoints is not here")
def test_public_checkpoints_come_back_bit_by_bit(tmp_path):
    for path in shared_checkpoints()[::3]:
        loaded = load_checkpoint(path)
        assert loaded.normalisation is not None and len(loaded.normalisation[0]) == 3
        save_checkpoint(tmp_path / "out.safetensors", loaded.state, meta=None, layout=loaded.layout)
        written = safetensors.torch.load_file(tmp_path / "out.safetensors")
        assert equal(written, safetensors.torch.load_file(path))
        with safe_open(path, "pt") as old, safe_open(tmp_path / "out.safetensors", "pt") as new:
            assert old.metadata() == new.metadata()
