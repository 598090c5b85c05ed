"""Every network by its name: shapes, parameter counts, gradients, repeatability, refusals."""

import pytest
import torch
from sklearn.datasets import load_digits

from sublimate.errors import InputRefused, UsageError
from sublimate.models import MODELS, build

CLASSES = 10
# The he and stem64 ones are those of the public checkpoints; he-resnet56 is 0.85 M in He et al. 2016, Table 6.
PARAMETERS = {
    "he-resnet20": 269_722,
    "he-resnet32": 464_154,
    "stem64-resnet8": 89_322,
    "stem64-resnet20": 283_754,
    "resnet18": 11_173_962,
    "resnet50": 23_520_842,
    "vgg16-bn": 15_253_578,
    "he-resnet56": 853_018,
    "small-cnn": 57_130,
}
NAMES = [
    *("vgg16-bn", "resnet18", "resnet50"),
    *("he-resnet8", "he-resnet20", "he-resnet32", "he-resnet44", "he-resnet56"),
    *("stem64-resnet8", "stem64-resnet20", "stem64-resnet32", "small-cnn"),
]


def test_names():
    assert list(MODELS) == NAMES


@pytest.mark.parametrize(("name", "count"), PARAMETERS.items())
def test_parameter_counts(name, count):
    with torch.device("meta"):
        assert sum(p.numel() for p in build(name, CLASSES).parameters()) == count


@pytest.mark.parametrize("name", [n for n in NAMES if "resnet" in n])
def test_depth_counts_the_layers_with_weights(name):
    with torch.device("meta"):
        layers = [key for key, p in build(name, 2).named_parameters() if p.ndim > 1]
    assert len([k for k in layers if "shortcut" not in k and "downsample" not in k]) == int(name.split("resnet")[1])


@pytest.mark.parametrize("name", [n for n in NAMES if n != "resnet50"])
def test_gradients_reach_every_weight(name):
    torch.manual_seed(0)
    network = build(name, CLASSES)
    out = network(torch.randn(4, 3, 32, 32))
    assert out.shape == (4, CLASSES)
    torch.nn.functional.cross_entropy(out, torch.arange(4)).backward()
    for key, parameter in network.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), key
        assert parameter.ndim == 1 or bool((parameter.grad != 0).any()), key


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith(("he", "stem", "small"))])
@pytest.mark.parametrize(("channels", "size"), [(1, 8), (1, 28), (3, 32), (3, 64), (5, 30)])
def test_small_networks_take_any_image(name, channels, size):
    network = build(name, 3, channels=channels, size=size).eval()
    assert network(torch.zeros(2, channels, size, size)).shape == (2, 3)


@pytest.mark.parametrize("name", ["vgg16-bn", "resnet18", "resnet50"])
def test_large_networks_take_larger_images(name):
    network = build(name, 3, channels=1, size=40).eval()
    assert network(torch.zeros(1, 1, 40, 40)).shape == (1, 3)


def test_a_seed_means_the_same_network():
    networks = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        networks.append(build("small-cnn", CLASSES, channels=1).state_dict())
    assert all(torch.equal(networks[0][k], networks[1][k]) for k in networks[0])
    assert not torch.equal(networks[0]["conv1.weight"], networks[2]["conv1.weight"])


@pytest.mark.parametrize("name", ["he-resnet20", "small-cnn", "vgg16-bn"])
def test_convolutions_start_as_he_et_al_say(name):
    torch.manual_seed(0)
    for key, p in build(name, CLASSES).named_parameters():
        if p.ndim == 4 and p.numel() > 2000:
            expected = (2 / (p.shape[0] * 9)) ** 0.5
            assert abs(float(p.detach().std()) / expected - 1) < 0.1, key


def test_small_cnn_learns_digits_in_five_epochs():
    digits = load_digits()
    x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)
    generator = torch.Generator().manual_seed(0)
    shuffled = torch.randperm(len(x), generator=generator)
    train, test = shuffled[:1437], shuffled[1437:]
    torch.manual_seed(0)
    network = build("small-cnn", CLASSES, channels=1, size=8)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    for _ in range(5):
        for i in train[torch.randperm(len(train), generator=generator)].split(128):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(x[i]), y[i]).backward()
            optimiser.step()
    assert float((network.eval()(x[test]).argmax(1) == y[test]).float().mean()) >= 0.97


def test_refusals_say_what_to_do():
    with pytest.raises(UsageError, match=r"No model 'resnet20'\. Known, nearest first: .*he-resnet20"):
        build("resnet20", CLASSES)
    with pytest.raises(InputRefused, match=r"cannot take 28x28\. Use small-cnn"):
        build("vgg16-bn", CLASSES, size=28)
    with pytest.raises(InputRefused, match="cannot take 7x7"):
        build("small-cnn", CLASSES, size=7)
    with pytest.raises(InputRefused, match="at least two classes"):
        build("small-cnn", 1)
