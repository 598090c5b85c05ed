"""Boundary Shrink: the step across the boundary and the new label by hand, and three updates by a plain loop."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.data.core import Data
from sublimate.splits import Part, split
from sublimate.unlearn import boundary_shrink
from sublimate.unlearn.boundary_shrink import BoundaryShrink, best_remaining, signed_step

PLAIN = {"views": "none", "batch_size": 1000, "momentum": 0.9, "norm": "eval"}


def linear(weight, bias=(0.0, 0.0)):
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2))
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor(weight))
        model[1].bias.copy_(torch.tensor(bias))
    return model


def rows(*values):
    return torch.tensor(values).view(-1, 1, 1, 2)


FORGET = rows((2.0, 1.0), (1.0, 0.5), (3.0, 0.0)), torch.tensor([0, 0, 0])
RETAIN = rows((0.0, 1.0)), torch.tensor([1])


def test_signed_step_by_hand():
    # w0 = (1, −2, 0), w1 = (3, 1, 0).  ∇_x CE(Wx, 0) = p1·(w1 − w0) = p1·(2, 3, 0), with p1 > 0: signs +, +, 0.
    #                                   ∇_x CE(Wx, 1) = p0·(w0 − w1) = p0·(−2, −3, 0):               signs −, −, 0.
    W = torch.tensor([[1.0, -2.0, 0.0], [3.0, 1.0, 0.0]])
    x = torch.tensor([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.0, 1.0, 2.0]])
    found = signed_step(lambda x: x @ W.T, x, torch.tensor([0, 1, 0]), 0.125)
    expected = torch.tensor([[0.625, 0.625, 0.5], [0.375, 0.375, 0.5], [0.125, 1.125, 2.0]])
    assert torch.equal(found, expected)
    assert not found.requires_grad and x.grad is None


def test_the_loss_and_the_update_by_hand():
    # f(x) = x; class 0 is forgotten, so y' = 1 and CE(x, 1) = ln(1 + e^(x0 − x1)) with differences 1, .5, 3:
    # 1.3132617 + 0.9740770 + 3.0485874 = 5.3359261, mean 1.7786420.
    # ∂/∂z0 = σ(x0 − x1) = .7310586, .6224593, .9525741 = −∂/∂z1; their mean is .7686973.
    # ∂/∂W00 = (2·.7310586 + 1·.6224593 + 3·.9525741)/3 = 1.6474329, ∂/∂W01 = (.7310586 + .5·.6224593)/3 = .3474294.
    # One step of .1: W0 = (1 − .1647433, −.0347429), W1 = (.1647433, 1 + .0347429), b = ∓.0768697.
    outcome = BoundaryShrink(lr=0.1, epochs=1, **PLAIN).run(linear([[1.0, 0.0], [0.0, 1.0]]), FORGET, RETAIN)
    assert outcome.record.losses[0]["ce forget"] == pytest.approx(1.7786420, abs=1e-6)
    expected = [0.8352567, -0.0347429, 0.1647433, 1.0347429]
    assert outcome.model[1].weight.flatten().tolist() == pytest.approx(expected, abs=1e-6)
    assert outcome.model[1].bias.tolist() == pytest.approx([-0.0768697, 0.0768697], abs=1e-6)


def test_the_new_label_is_never_a_forgotten_class():
    z = torch.randn(500, 6, generator=torch.Generator().manual_seed(0))
    for forgotten in ([0], [5], [1, 2, 4]):
        found = best_remaining(z, torch.tensor(forgotten))
        remaining = [k for k in range(6) if k not in forgotten]
        assert found.tolist() == [max(remaining, key=row.__getitem__) for row in z.tolist()]


def test_a_step_that_does_not_cross_the_boundary_still_gives_another_class(toy, monkeypatch):
    plain, chosen = [], []

    def spy(z, forgotten):
        plain.append(z.argmax(1))
        chosen.append(best_remaining(z, forgotten))
        return chosen[-1]

    monkeypatch.setattr(boundary_shrink, "best_remaining", spy)
    s = split(toy.data, "class:b,c", few=60)
    BoundaryShrink(epsilon=1e-9, lr=0.01, epochs=1).unlearn(toy.model, s.forget_set, s.few_set, ratios=s.ratios)
    assert torch.isin(torch.cat(plain), torch.tensor([1, 2])).all()  # the public code would teach the old class
    assert not torch.isin(torch.cat(chosen), torch.tensor([1, 2])).any()


class Probe(nn.Module):
    """Notes what it is given."""

    seen: list = []  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 2)
        nn.init.constant_(self.head.weight[0], 1.0)
        nn.init.constant_(self.head.weight[1], -1.0)

    def forward(self, x):
        self.seen.append((torch.is_grad_enabled(), x.detach().clone()))
        return self.head(x.flatten(1))


@pytest.mark.parametrize("pixels", [True, False])
def test_epsilon_is_in_pixels_and_the_range_is_kept(pixels):
    # CE(Wx, 0) falls with every pixel, so the step is −ε everywhere.  Pixels .5 and .02, ε = .1, std .25 and .5:
    # the network's input moves by −.1/.25 = −.4, and by (0 − .02)/.5 = −.04, where 0 is the end of the range.
    # The same numbers as model-ready input move by −.1, and there is no range.
    x, y = torch.tensor([0.5, 0.02]).view(1, 2, 1, 1).repeat(3, 1, 1, 1), torch.tensor([0, 0, 1])
    normal = {"mean": (0.5, 0.5), "std": (0.25, 0.5)} if pixels else {}
    data = Data(name="p", images=x, labels=y, sizes=(3, 0, 0), classes=("a", "b"), **normal)
    forget, retain = Part(data, torch.tensor([0, 1]), "forget"), Part(data, torch.tensor([2]), "retain")
    Probe.seen.clear()
    BoundaryShrink(lr=0.1, epochs=1, **PLAIN).unlearn(Probe(), forget, retain)
    (_, before), (no_gradient, after) = Probe.seen[3:5]  # two checks and the student come first
    assert not no_gradient
    moved = (after - before)[0].flatten().tolist()
    assert moved == pytest.approx([-0.4, -0.04] if pixels else [-0.1, -0.1], abs=1e-6)


def test_three_updates_by_a_plain_loop(toy):
    s = toy.split
    found = BoundaryShrink(lr=0.01, epochs=3, **PLAIN).unlearn(toy.model, s.forget_set, s.few_set, ratios=s.ratios)
    student, teacher = copy.deepcopy(toy.model).eval(), toy.model.eval()
    x = toy.data.images[s.forget].float() / 255
    u = ((x - 0.35) / 0.25).requires_grad_()
    (gradient,) = torch.autograd.grad(F.cross_entropy(teacher(u), torch.full((60,), 1)), u)
    z = teacher(((x + 0.1 * gradient.sign()).clamp(0, 1) - 0.35) / 0.25).detach()
    new = torch.tensor([max((0, 2, 3), key=row.__getitem__) for row in z.tolist()])
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(student(u.detach()), new).backward()
        optimizer.step()
    for mine, theirs in zip(found.parameters(), student.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)
