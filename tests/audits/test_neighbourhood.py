"""Perturbed neighbourhood: one step by hand, what is counted, and that the network stays as it was."""

import copy

import pytest
import torch
from torch import nn

from sublimate.audits.neighbourhood import Recognition, neighbourhood, noisy, towards
from sublimate.data import load
from sublimate.data.core import Data
from sublimate.data.views import simple
from sublimate.inference import predict
from sublimate.models.registry import build
from sublimate.randomness import stream
from sublimate.splits import Part, split
from sublimate.training import find_recipe, fit


class Threshold(nn.Module):
    """Calls an image class 0 where its first pixel (as normalised) lies above a threshold."""

    def __init__(self, threshold, slope=1.0):
        super().__init__()
        self.threshold, self.slope = threshold, slope

    def forward(self, x):
        above = self.slope * (x[:, 0, 0, 0] - self.threshold)
        return torch.stack([above, torch.zeros_like(above)], 1)


def part_of(pixels, labels, std=1.0, name="part", **more):
    """Images of 8 × 8 equal pixels."""
    x = torch.tensor(pixels).view(-1, 1, 1, 1).expand(-1, 1, 8, 8).contiguous()
    more = {"mean": (0.0,), "std": (std,)} | more
    data = Data(name="toy", images=x, labels=torch.tensor(labels), sizes=(len(x), 0, 0), classes=("a", "b"), **more)
    return Part(data, data.train, name)


@pytest.mark.parametrize("std", [1.0, 0.25])
def test_one_step_towards_the_label_in_pixel_units(std):
    part = part_of([0.5, 0.5, 0.99, 0.01], [0, 1, 0, 1], std=std)
    x, y = part.data.read(part.rows)
    found = towards(Threshold(0.5), part, x, y, 0.03)
    # Class 0 lies upwards, class 1 downwards; .99 and .01 end at the edge; pixels without influence stay.
    assert found[:, 0, 0, 0].tolist() == pytest.approx([0.53, 0.47, 1.0, 0.0])
    assert found[:, 0, 1:, :].equal(x[:, 0, 1:, :])
    against = towards(Threshold(0.5, slope=-1.0), part, x[:2], y[:2], 0.03)
    assert against[:, 0, 0, 0].tolist() == pytest.approx([0.47, 0.53])


def test_a_stored_byte_is_a_255th():
    part = part_of([255, 0, 51], [0, 0, 0])
    part.data.__dict__["images"] = part.data.images.to(torch.uint8)
    x, y = part.data.read(part.rows)
    assert towards(Threshold(0.5), part, x, y, 0.03)[:, 0, 0, 0].tolist() == pytest.approx([1.0, 0.03, 0.23])


def test_noise_has_the_size_and_stays_within_the_pixels():
    x = torch.full((4, 1, 8, 8), 0.5)
    drawn = torch.randn(x.shape, generator=stream(0, "noise"))
    assert torch.equal(noisy(x, stream(0, "noise"), 0.03), x + 0.03 * drawn)
    edge = noisy(torch.cat([torch.zeros_like(x), torch.ones_like(x)]), stream(0, "noise"), 0.5)
    assert float(edge.min()) == 0.0 and float(edge.max()) == 1.0


def test_what_is_counted():
    clean = torch.tensor([True, False, False, False])
    noise = torch.tensor([[True, True, False, False], [False, True, True, False]])
    found = Recognition(clean, {"noise": noise})
    assert found.accuracy("noise") == 50.0  # 4 of 8
    assert found.fractions("noise").tolist() == [0.5, 1.0, 0.5, 0.0]
    assert found.recognised("noise").tolist() == [False, True, True, False]  # the first was right when clean


def test_records_near_the_boundary_are_recognised_again():
    forget = part_of([0.60, 0.49, 0.48, 0.46, 0.10], [0] * 5, name="forget")
    control = part_of([0.60, 0.40], [0] * 2, name="control")
    found = neighbourhood(Threshold(0.5), forget, control, draws=3)
    assert found.forget.clean.tolist() == [True, False, False, False, False]
    assert found.forget.right["fgsm"].tolist() == [[True, True, True, False, False]]
    assert found.forget.recognised("fgsm").tolist() == [False, True, True, False, False]
    assert not found.control.recognised("fgsm").any()
    assert found.forget.right["noise"].shape == (3, 5) and found.control.right["views"].shape == (3, 2)
    for draw in range(3):
        x = forget.data.read(forget.rows)[0]
        seen = noisy(x, stream(0, "noise", "forget", draw, 0), 0.03)[:, 0, 0, 0] > 0.5
        assert found.forget.right["noise"][draw].tolist() == seen.tolist()
        seen = simple(x, stream(0, "views", "forget", draw, 0))[:, 0, 0, 0] > 0.5
        assert found.forget.right["views"][draw].tolist() == seen.tolist()


def test_model_ready_input_has_views_only_and_says_so():
    part = part_of([0.6, 0.4], [0, 0], mean=None, std=None)
    found = neighbourhood(Threshold(0.5), part, part, draws=2)
    assert set(found.forget.right) == {"views"} and "pixel unit" in found.skipped[0]


def test_the_network_and_the_random_state_stay_as_they_were(toy):
    model = copy.deepcopy(toy.model)
    model.train()
    model[1].eval()
    model[0].weight.requires_grad_(False)
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    modes, flags = [m.training for m in model.modules()], [p.requires_grad for p in model.parameters()]

    def unchanged():
        return (
            [m.training for m in model.modules()] == modes
            and [p.requires_grad for p in model.parameters()] == flags
            and all(p.grad is None for p in model.parameters())
            and all(torch.equal(t, before[name]) for name, t in model.state_dict().items())
            and torch.equal(torch.get_rng_state(), state)
        )

    forget, control = toy.split.forget_set, Part(toy.data, toy.split.control, "control")
    first = neighbourhood(model, forget, control, draws=2)
    assert unchanged()
    again = neighbourhood(model, forget, control, draws=2)
    assert all(torch.equal(first.forget.right[kind], again.forget.right[kind]) for kind in first.forget.right)
    hook = model[5].register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        neighbourhood(model, forget, control, draws=2)
    hook.remove()
    assert unchanged()


@pytest.fixture(scope="session")
def networks():
    """Digits: an original that calls three out of four threes wrong, some by a hair, and one that never saw a three."""
    s = split(load("digits"), "class:3")

    def network(rows, seed):
        recipe = find_recipe("fast", epochs=2, batch_size=64, views="none")
        part = Part(s.data, rows, "train")
        return fit(lambda: build("small-cnn", 10, channels=1, size=8), part, recipe, seed=seed)[0]

    hidden, never = network(s.data.train, 0), network(s.retain, 1)
    with torch.no_grad():
        z = predict(hidden, s.forget_set)
        lead = z[:, 3] - z.index_fill(1, torch.tensor([3]), float("-inf")).amax(1)
        hidden.linear.bias[3] -= float(lead.quantile(0.75))
    return s, hidden, never


def test_a_class_just_beyond_the_boundary_is_recognised_and_an_unknown_one_is_not(networks):
    s, hidden, never = networks
    control = Part(s.data, s.control, "control")
    control = control.where(control.labels == 3)
    found, honest = (neighbourhood(network, s.forget_set, control, draws=2) for network in (hidden, never))
    wrong = ~found.forget.clean
    assert 0.7 < wrong.double().mean() < 0.8 and not honest.forget.clean.any()
    again = found.forget.recognised("fgsm")
    assert again.sum() > wrong.sum() / 4 and not (again & ~wrong).any()
    assert not honest.forget.recognised("fgsm").any()


def test_answers_that_do_not_depend_on_the_pixels_have_no_slope():
    class Table(nn.Module):
        def forward(self, x):
            return torch.zeros(len(x), 2)

    data = Data(
        name="two",
        images=torch.rand(4, 1, 2, 2),
        labels=torch.tensor([0, 1, 0, 1]),
        sizes=(4, 0, 0),
        classes=("a", "b"),
        mean=(0.5,),
        std=(0.5,),
    )
    x, y = data.read(data.train)
    assert torch.equal(towards(Table(), Part(data, data.train, "train"), x, y, 0.03), x)
