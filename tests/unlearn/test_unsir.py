"""UNSIR: the loss of the noise and its gradient by hand, all three phases by a plain loop, and what is not touched."""

import copy
import io
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.errors import Interrupted
from sublimate.randomness import stream
from sublimate.splits import Part, split
from sublimate.testing.world import content
from sublimate.unlearn.unsir import Noise, Unsir, noise_loss, some_of_each

QUICK = {"lr": 0.01, "batch_size": 16, "noise_steps": 4, "noise_size": 2}


def seeded(*place):
    return stream(0, *place)


def run(method, toy, request="class:b", **extra):
    s = split(toy.data, request, few=60)
    return method.run(toy.model, s.forget_set, s.few_set, ratios=s.ratios, **extra)


class Memory:
    state = None

    def load(self):
        return None

    def save(self, data):
        self.state = torch.load(io.BytesIO(data), weights_only=True)


def test_the_loss_of_the_noise_and_its_gradient_by_hand():
    # f(n) = n, c = 0: n = (1, 0), (0, 0), (0, 2).  CE = ln(1 + e^(n1 − n0)) = .3132617, .6931472, 2.1269280,
    # mean 1.0444456; ‖n‖² = 1, 0, 4, mean 5/3; −1.0444456 + .1·5/3 = −.8777790.
    # ∂CE/∂n = (−p1, p1) with p1 = σ(n1 − n0) = .2689414, .5, .8807971, so that the gradient, with its 1/3, is
    # (.2689414 + .2, −.2689414)/3 = (.1563138, −.0896471), (.1666667, −.1666667),
    # (.8807971, −.8807971 + .4)/3 = (.2935990, −.1602657).
    n = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]).view(3, 1, 1, 2).requires_grad_()
    loss = noise_loss(n.flatten(1), torch.tensor([0, 0, 0]), n, 0.1)
    loss.backward()
    assert loss.item() == pytest.approx(-0.8777790, abs=1e-6)
    expected = [0.1563138, -0.0896471, 0.1666667, -0.1666667, 0.2935990, -0.1602657]
    assert n.grad.flatten().tolist() == pytest.approx(expected, abs=1e-6)


def test_the_update_of_the_repair_by_hand():
    # f(x) = 0 for x = (1, 2), (3, 0) of class 1 and noise of nil weight: CE = ln 2, and the first step of Adam moves
    # every weight by its rate against the sign of the gradient.  Repair: ∂/∂W0 > 0, ∂/∂W1 < 0 at x > 0.
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2))
    nn.init.zeros_(model[1].weight), nn.init.zeros_(model[1].bias)
    forget = torch.zeros(3, 1, 1, 2), torch.tensor([0, 0, 0])
    retain = torch.tensor([[1.0, 2.0], [3.0, 0.5]]).view(2, 1, 1, 2), torch.tensor([1, 1])
    method = Unsir(lr=1e-30, repair_lr=0.25, epochs=1, noise_steps=1, noise_size=1, views="none")
    outcome = method.run(model, forget, retain)
    assert outcome.record.losses[-1]["ce repair"] == pytest.approx(0.6931472, abs=1e-6)
    assert outcome.model[1].weight.flatten().tolist() == pytest.approx([-0.25, -0.25, 0.25, 0.25], abs=1e-6)
    assert outcome.model[1].bias.tolist() == pytest.approx([-0.25, 0.25], abs=1e-6)


def test_all_three_phases_by_a_plain_loop(toy):
    method = Unsir(lr=0.01, repair_lr=0.005, epochs=2, batch_size=1000, noise_steps=3, noise_size=2, views="none")
    found = run(replace(method, norm="eval"), toy, "class:b,c").model
    teacher, student = toy.model.eval(), copy.deepcopy(toy.model).eval()
    noises = {}
    for c in (1, 2):  # one after the other, each with an optimizer of its own
        noises[c] = torch.randn(2, 1, 8, 8, generator=seeded("noise", c)).requires_grad_()
        optimizer = torch.optim.Adam([noises[c]], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            size = sum((image**2).sum() for image in noises[c]) / 2
            (-F.cross_entropy(teacher(noises[c]), torch.tensor([c, c])) + 0.1 * size).backward()
            optimizer.step()
    x, y = toy.data.read(split(toy.data, "class:b,c", few=60).few)
    x = toy.data.normalise(x)
    joined = torch.cat([x, noises[1].detach(), noises[2].detach()]), torch.cat([y, torch.tensor([1, 1, 2, 2])])
    for (inputs, labels), lr in ((joined, 0.01), ((x, y), 0.005)):
        optimizer = torch.optim.Adam(student.parameters(), lr=lr)
        for _ in range(2):
            optimizer.zero_grad()
            F.cross_entropy(student(inputs), labels).backward()
            optimizer.step()
    for mine, theirs in zip(found.parameters(), student.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_each_noise_carries_its_own_label():
    noise = Noise([3, 1], (2, 1, 4, 4), seeded)
    n, c = noise.joined()
    assert c.tolist() == [3, 3, 1, 1]
    assert torch.equal(n, torch.cat(list(noise.images))) and not n.requires_grad
    assert torch.equal(noise.of(1)[0], torch.randn(2, 1, 4, 4, generator=seeded("noise", 1)))


@pytest.mark.parametrize("norm", ["eval", "train"])
def test_the_network_stays_while_the_noise_is_learned(toy, norm):
    asked, memory = iter([False] * 3 + [True]), Memory()
    with pytest.raises(Interrupted):
        run(Unsir(**QUICK, norm=norm), toy, saver=memory, interrupted=lambda: next(asked))
    assert memory.state["phase"] == 0 and memory.state["done"] == 4
    for name, tensor in toy.model.state_dict().items():  # running statistics, too
        assert torch.equal(memory.state["model"][name], tensor)
    start = torch.randn(2, 1, 8, 8, generator=seeded("noise", 1))
    learned = memory.state["modules"]["noise"]["images.0"]
    assert (learned - start).abs().min() > 0  # every pixel of the noise moved
    assert memory.state["meter"] == {}


def test_no_image_of_the_forgotten_records_matters(toy):
    images = toy.data.images.clone()
    images[toy.split.forget] = 0
    blank = replace(toy.data, images=images)
    s = toy.split
    outcome = [
        Unsir(**QUICK).run(toy.model, Part(data, s.forget, "forget"), Part(data, s.few, "retain"), ratios=s.ratios)
        for data in (toy.data, blank)
    ]
    assert content(outcome[0].model) == content(outcome[1].model)
    assert "forget" not in outcome[0].record.samples


def test_per_class_is_a_seeded_sample_of_each_class(toy):
    part = Part(toy.data, toy.split.retain, "retain")
    first, second, other = (some_of_each(part, 7, stream(seed, "x")) for seed in (0, 0, 1))
    assert first.labels.bincount(minlength=4).tolist() == [7, 0, 7, 7]
    assert torch.equal(first.rows, second.rows) and not torch.equal(first.rows, other.rows)
    assert torch.equal(some_of_each(part, 1000, stream(0, "x")).rows, part.rows)
    assert run(Unsir(**QUICK, per_class=5), toy).record.samples == {"retain": 2 * 3 * 5}
