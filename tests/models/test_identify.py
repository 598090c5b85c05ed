"""State dicts tell which network they belong to."""

import pytest
import torch

from sublimate.models import MODELS, build
from sublimate.models.identify import Identity, identify


def shapes(name, classes, channels=3, size=32):
    with torch.device("meta"):
        network = build(name, classes, channels=channels, size=size)
    return {key: tuple(tensor.shape) for key, tensor in network.state_dict().items()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("classes", "channels"), [(10, 3), (7, 1)])
def test_every_architecture_is_known_again(name, classes, channels):
    assert identify(shapes(name, classes, channels)) == Identity(name, classes, channels, 32)


@pytest.mark.parametrize("name", MODELS)
def test_counters_of_batches_need_not_be_there(name):
    old = {key: shape for key, shape in shapes(name, 10).items() if not key.endswith("num_batches_tracked")}
    assert identify(old) == Identity(name, 10, 3, 32)


@pytest.mark.parametrize("size", [28, 32, 64])
def test_the_head_of_stem64_tells_the_size(size):
    assert identify(shapes("stem64-resnet8", 10, 1, size)) == Identity("stem64-resnet8", 10, 1, size)


def test_an_identity_builds_the_same_shapes():
    small = shapes("stem64-resnet20", 10, 1, 8)
    found = identify(small)
    assert found is not None
    assert shapes(*found) == small


def changed(key, shape):
    return {**shapes("he-resnet20", 10), key: shape}


@pytest.mark.parametrize(
    "foreign",
    [
        {},
        {"weight": (3, 3), "bias": (3,)},
        changed("extra", (1,)),
        changed("layer1.0.conv1.weight", (16, 16, 5, 5)),
        changed("linear.weight", (10, 128)),
        changed("linear.bias", ()),
        changed("linear.bias", (9,)),
        changed("conv1.weight", (16,)),
        {k: v for k, v in shapes("he-resnet20", 10).items() if k != "bn1.bias"},
        {f"module.{k}": v for k, v in shapes("he-resnet20", 10).items()},
    ],
)
def test_foreign_state_dicts_are_nobodys(foreign):
    assert identify(foreign) is None


def test_one_output_is_no_classifier():
    one = {**shapes("small-cnn", 2), "linear.weight": (1, 64), "linear.bias": (1,)}
    assert identify(one) is None


def test_the_random_state_is_left_alone():
    before = torch.get_rng_state()
    identify(shapes("he-resnet44", 11))
    assert torch.equal(torch.get_rng_state(), before)
