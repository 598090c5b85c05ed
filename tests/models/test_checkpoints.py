"""The public CIFAR checkpoints fit our networks by name, and our networks compute what their description says."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file

from sublimate.models import build

SHARED = Path(__file__).resolve().parents[3] / "shared"
DATA = Path(os.environ.get("SUBLIMATE_DATA", SHARED / "data"))
CHECKPOINTS = SHARED / "checkpoints"
pytestmark = pytest.mark.skipif(not CHECKPOINTS.is_dir(), reason="needs the public checkpoints in ../shared")
needs_cifar = pytest.mark.skipif(not (DATA / "cifar10").is_dir(), reason="needs cifar10 (SUBLIMATE_DATA)")

FILES = {
    "he_resnet20_cifar10": 269_722,
    "he_resnet32_cifar10": 464_154,
    "stem64_resnet8_cifar10": 89_322,
    "stem64_resnet20_cifar10": 283_754,
    "stem64_resnet8_cifar100": 112_452,
    "stem64_resnet20_cifar100": 306_884,
    "stem64_resnet32_cifar100": 501_316,
}


def read(name):
    path = CHECKPOINTS / f"{name}.safetensors"
    with safe_open(path, "pt") as opened:
        return load_file(path), opened.metadata()


def loaded(name):
    state, about = read(name)
    network = build(name.rsplit("_", 1)[0].replace("_", "-"), int(about["num_classes"]))
    network.load_state_dict(state, strict=True)
    return network.eval()


def cifar10_test(n, about):
    """The first n test images as the network wants them, and their labels."""
    pixels = np.asarray(Image.open(DATA / "cifar10" / "test.webp"))
    pixels = pixels.reshape(100, 32, 100, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)[:n]
    mean, std = (torch.tensor([float(v) for v in about[key].strip("()").split(",")]) for key in ("mean", "std"))
    x = (torch.from_numpy(pixels.copy()) / 255 - mean) / std
    return x.permute(0, 3, 1, 2), torch.from_numpy(np.load(DATA / "cifar10" / "labels.npz")["test"][:n].astype(int))


def by_hand(w, about, x):
    """The description, step by step, from the tensors alone."""
    he, blocks = about["family"] == "he", int(about["blocks_per_stage"])

    def norm(key, x):
        mean, var, scale, shift = (
            w[f"{key}.{k}"].view(1, -1, 1, 1) for k in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (var + 1e-5).sqrt() * scale + shift

    def shortcut(key, x, stride, outputs):
        if f"{key}.shortcut.0.weight" in w:
            return norm(f"{key}.shortcut.1", F.conv2d(x, w[f"{key}.shortcut.0.weight"], stride=stride))
        wider = torch.zeros(len(x), outputs, *x[:, :, ::stride, ::stride].shape[2:], dtype=x.dtype)
        start = (outputs - x.shape[1]) // 2
        wider[:, start : start + x.shape[1]] = x[:, :, ::stride, ::stride]
        return wider

    x = norm("bn1", F.conv2d(x, w["conv1.weight"], padding=1)).clamp(min=0)
    for stage in (1, 2, 3):
        for block in range(blocks):
            key, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            out = norm(f"{key}.bn1", F.conv2d(x, w[f"{key}.conv1.weight"], stride=stride, padding=1)).clamp(min=0)
            out = norm(f"{key}.bn2", F.conv2d(out, w[f"{key}.conv2.weight"], padding=1))
            x = out + shortcut(key, x, stride, out.shape[1])
            x = x.clamp(min=0) if he or block == blocks - 1 else x
    side = 8 if he else 4
    cells = x.unfold(2, side, side).unfold(3, side, side).mean((4, 5))
    return cells.reshape(len(x), -1) @ w["linear.weight"].T + w["linear.bias"]


@pytest.mark.parametrize(("name", "parameters"), FILES.items())
def test_files_load_strictly_and_the_network_is_its_description(name, parameters):
    network = loaded(name)
    assert sum(p.numel() for p in network.parameters()) == parameters
    x = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    state, about = read(name)
    exact = by_hand({key: tensor.double() for key, tensor in state.items()}, about, x.double())
    with torch.inference_mode():
        assert torch.allclose(network(x).double(), exact, atol=1e-4)


@needs_cifar
@pytest.mark.parametrize(("n", "correct"), [(200, 182), pytest.param(2000, 1833, marks=pytest.mark.slow)])
def test_he_resnet20_calls_real_images_as_by_hand(n, correct):
    state, about = read("he_resnet20_cifar10")
    x, y = cifar10_test(n, about)
    network = loaded("he_resnet20_cifar10")
    with torch.inference_mode():
        calls = torch.cat([network(part).argmax(1) for part in x.split(500)])
        expected = torch.cat([by_hand(state, about, part).argmax(1) for part in x.split(500)])
    assert torch.equal(calls, expected)
    assert int((calls == y).sum()) == correct


@pytest.mark.slow
@needs_cifar
def test_stem64_resnet8_reaches_its_published_accuracy():
    x, y = cifar10_test(10_000, read("stem64_resnet8_cifar10")[1])
    network = loaded("stem64_resnet8_cifar10").to(memory_format=torch.channels_last)
    with torch.inference_mode():
        calls = torch.cat([network(part).argmax(1) for part in x.split(500)])
    assert 100 * float((calls == y).double().mean()) == pytest.approx(89.59, abs=0.021)  # two images of rounding
