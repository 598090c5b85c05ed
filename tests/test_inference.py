"""One pass of logits that leaves no mark; accuracy and confidence as pure functions."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from sublimate.data.core import Data
from sublimate.errors import InputRefused
from sublimate.inference import accuracy, confidence, device_of, modes_kept, predict
from sublimate.splits import Part


def pixels(n=23):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (n, 3, 8, 8), dtype=torch.uint8, generator=generator)
    stats = {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    return Data(name="toy", images=images, labels=torch.arange(n) % 4, sizes=(n, 0, 0), classes=tuple("abcd"), **stats)


def network():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 4),
    )
    model[1].running_mean.fill_(0.1)
    model[1].running_var.fill_(0.7)
    return model


class Reshaping(nn.Module):
    """A network that cannot take nothing."""

    def forward(self, x):
        return x.reshape(x.size(0), -1)


def mixed_modes(model):
    """Frozen norm in a training network, training dropout in a frozen block: modes as people set them."""
    model.train()
    model[1].eval()
    model[4].eval()
    return model


class Wrapped(nn.Module):
    def __init__(self, inner, answer):
        super().__init__()
        self.inner, self.answer = inner, answer

    def forward(self, x):
        return self.answer(self.inner(x))


def whole(data):
    return Part(data, data.train, "retain")


def test_logits_are_those_of_the_normalised_images_in_evaluation_mode():
    data, model = pixels(), network()
    x = data.images.float() / 255
    x = (x - torch.tensor(data.mean).view(1, 3, 1, 1)) / torch.tensor(data.std).view(1, 3, 1, 1)
    with torch.no_grad():
        expected = network().eval()(x)
    assert torch.allclose(predict(model, whole(data)), expected, atol=1e-5)


def test_rows_come_in_the_order_of_the_part():
    data, model = pixels(), network()
    z, rows = predict(model, whole(data)), torch.tensor([7, 2, 19, 2])
    assert torch.allclose(predict(model, Part(data, rows, "some")), z[rows], atol=1e-6)


@pytest.mark.parametrize("batch_size", [1, 2, 7, 22, 23, 24])
def test_the_batch_size_does_not_matter(batch_size):
    part, model = whole(pixels()), network()
    assert torch.allclose(predict(model, part, batch_size=batch_size), predict(model, part), rtol=0, atol=1e-6)


def test_modes_of_every_module_come_back():
    model = mixed_modes(network())
    modes = [module.training for module in model.modules()]
    predict(model, whole(pixels()))
    assert [module.training for module in model.modules()] == modes and len(set(modes)) == 2


@pytest.mark.parametrize(("error", "raised"), [(RuntimeError, InputRefused), (KeyboardInterrupt, KeyboardInterrupt)])
def test_modes_come_back_when_the_network_raises(error, raised):
    def fail(_):
        raise error

    model = Wrapped(mixed_modes(network()), fail)
    modes = [module.training for module in model.modules()]
    with pytest.raises(raised):
        predict(model, whole(pixels()))
    assert [module.training for module in model.modules()] == modes
    assert not torch.is_inference_mode_enabled()


def test_modes_kept_gives_back_what_its_body_changed():
    model = mixed_modes(network())
    modes = [module.training for module in model.modules()]
    with modes_kept(model):
        model.eval()
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == modes


def test_nothing_else_of_the_network_or_the_caller_changes():
    data, model, state = pixels(), network().train(), torch.get_rng_state()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    images = data.images.clone()
    predict(model, whole(data))
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert torch.equal(data.images, images) and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.float32])
def test_logits_are_float32_on_the_cpu_and_ordinary_tensors(dtype):
    z = predict(Wrapped(network(), lambda z: z.to(dtype)), whole(pixels()))
    assert (z.dtype, z.device.type, z.shape) == (torch.float32, "cpu", (23, 4))
    assert not z.is_inference() and not z.requires_grad


@pytest.mark.parametrize("answer", [lambda z: (z, "attention"), lambda z: {"logits": z, "loss": None}])
def test_logits_are_found_in_what_networks_answer(answer):
    part = whole(pixels())
    assert torch.equal(predict(Wrapped(network(), answer), part), predict(network(), part))


def test_no_rows_give_no_logits():
    data = pixels()
    for model in (network(), Reshaping()):
        assert predict(model, Part(data, torch.tensor([], dtype=torch.long), "none")).shape == (0, 4)


def test_ticks_tell_the_rows_of_each_batch():
    ticks = []
    predict(network(), whole(pixels()), batch_size=10, tick=ticks.append)
    assert ticks == [10, 10, 3]


def test_a_network_without_weights_lives_on_the_cpu():
    assert device_of(nn.ReLU()) == torch.device("cpu")
    assert device_of(nn.Linear(1, 1, device="meta")) == torch.device("meta")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_accuracy_is_correct_over_total(pairs):
    z = torch.eye(4)[torch.tensor([answer for answer, _ in pairs])]
    right = sum(answer == label for answer, label in pairs)
    assert accuracy(z, torch.tensor([label for _, label in pairs])) == 100 * right / len(pairs)


@settings(deadline=None)
@given(st.lists(st.floats(-8, 8), min_size=2, max_size=12), st.data())
def test_confidence_is_log_p_less_log_of_1_less_p(row, draw):
    label = draw.draw(st.integers(0, len(row) - 1))
    powers = [math.exp(value) for value in row]
    p = powers[label] / sum(powers)
    rest = math.fsum(powers[:label] + powers[label + 1 :]) / sum(powers)  # 1 − p, without cancellation
    found = confidence(torch.tensor([row], dtype=torch.float64), torch.tensor([label]))
    assert found.dtype == torch.float64
    assert found.item() == pytest.approx(math.log(p) - math.log(rest), abs=1e-9)
    assert found.item() == pytest.approx(math.log(p) - math.log(1 - p), abs=1e-6)


def test_confidence_by_hand():
    # Two classes: φ is the difference of the logits.  Three equal ones: p = 1/3, φ = log(1/3) − log(2/3) = −log 2.
    z, labels = torch.tensor([[2.5, 1.0], [2.5, 1.0]]), torch.tensor([0, 1])
    assert confidence(z, labels).tolist() == [1.5, -1.5]
    assert confidence(torch.zeros(1, 3), torch.tensor([2])).item() == pytest.approx(-math.log(2))


@pytest.mark.parametrize(
    ("row", "label", "expected"),
    [
        ([1e4, 0.0, 0.0], 0, 1e4 - math.log(2)),
        ([1e4, 0.0, 0.0], 1, -1e4),
        ([-1e4, -1e4, -1e4], 0, -math.log(2)),
        ([1e30, -1e30], 0, 2e30),
        ([80.0, 0.0], 0, 80.0),  # in float32 p is 1 and log(1 − p) is −∞
        ([0.0, 40.0], 0, -40.0),
    ],
)
def test_confidence_is_stable_for_huge_logits(row, label, expected):
    assert confidence(torch.tensor([row]), torch.tensor([label])).item() == pytest.approx(expected, rel=1e-6)


def test_confidence_leaves_the_logits_alone():
    z = torch.ones(2, 3)
    confidence(z, torch.tensor([0, 2]))
    assert torch.equal(z, torch.ones(2, 3))
