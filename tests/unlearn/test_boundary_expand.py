"""Boundary Expand: the further logit by hand, the hook always gone, and three updates of a network really widened."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.randomness import stream
from sublimate.unlearn import boundary_expand
from sublimate.unlearn.boundary_expand import BoundaryExpand, expansion, further, heads_of, inputs_of, row

PLAIN = {"views": "none", "batch_size": 1000, "norm": "eval"}


def hooks(model):
    return sum(len(m._forward_pre_hooks) + len(m._forward_hooks) for m in model.modules())


def run(toy, model=None, **options):
    s = toy.split
    options = {"lr": 0.01, "epochs": 3} | options
    return BoundaryExpand(**options).run(model or toy.model, s.forget_set, s.few_set, ratios=s.ratios)


def test_the_further_logit_and_the_loss_by_hand():
    # w = (1, −1), b = .5; h = (2, 1), (0, 0), (1, 3) give 1.5, .5, −1.5.  With z = (1, 0), (0, 0), (2, 1):
    # ln(e + 1 + e^1.5) − 1.5 = .6041306, ln(2 + e^.5) − .5 = .7943768, ln(e² + e + e^−1.5) + 1.5 = 3.8350976;
    # the mean is 1.7445350.
    extra = nn.Linear(2, 1)
    with torch.no_grad():
        extra.weight.copy_(torch.tensor([[1.0, -1.0]]))
        extra.bias.fill_(0.5)
    more = further(extra, torch.tensor([[2.0, 1.0], [0.0, 0.0], [1.0, 3.0]]))
    assert more.flatten().tolist() == [1.5, 0.5, -1.5]
    z = torch.tensor([[1.0, 0.0], [0.0, 0.0], [2.0, 1.0]])
    assert expansion(z, more).item() == pytest.approx(1.7445350, abs=1e-6)


def test_the_update_by_hand(monkeypatch):
    # Logits (ln 2, 0) of the head and 0 of the further row: p = (1/2, 1/4, 1/4), the loss is ln 4.
    # x = (1, 2), (3, 0), (2, 1) with mean (2, 1): ∂/∂W0 = (1, .5), ∂/∂W1 = (.5, .25), ∂/∂b = (.5, .25).
    # One step of .4: W0 = (−.4, −.2), W1 = (−.2, −.1), b = (ln 2 − .2, −.1).
    monkeypatch.setattr(boundary_expand, "SMALL", 0.0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2))
    nn.init.zeros_(model[1].weight)
    model[1].bias.data = torch.tensor([math.log(2), 0.0])
    forget = torch.tensor([[1.0, 2.0], [3.0, 0.0], [2.0, 1.0]]).view(3, 1, 1, 2), torch.tensor([0, 0, 0])
    retain = torch.zeros(1, 1, 1, 2), torch.tensor([1])
    outcome = BoundaryExpand(lr=0.4, epochs=1, **PLAIN).run(model, forget, retain)
    assert outcome.record.losses[0]["ce further"] == pytest.approx(math.log(4), abs=1e-6)
    assert outcome.model[1].weight.flatten().tolist() == pytest.approx([-0.4, -0.2, -0.2, -0.1], abs=1e-6)
    assert outcome.model[1].bias.tolist() == pytest.approx([math.log(2) - 0.2, -0.1], abs=1e-6)


def test_three_updates_of_a_network_really_widened(toy):
    found = run(toy, **PLAIN, epochs=3).model
    extra = row(toy.model[5], 4, stream(0, "extra"))
    wide = copy.deepcopy(toy.model).eval()
    wide[5] = nn.Linear(128, 5)
    with torch.no_grad():
        wide[5].weight.copy_(torch.cat([toy.model[5].weight, extra.weight]))
        wide[5].bias.copy_(torch.cat([toy.model[5].bias, extra.bias]))
    x = toy.data.normalise(toy.data.read(toy.split.forget)[0])
    optimizer = torch.optim.SGD(wide.parameters(), lr=0.01, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(wide(x), torch.full((60,), 4)).backward()
        optimizer.step()
    expected = [*(p for layer in wide[:5] for p in layer.parameters()), wide[5].weight[:4], wide[5].bias[:4]]
    for mine, theirs in zip(found.parameters(), expected, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)


def test_the_further_row_begins_small_and_seeded():
    first, second, other = (row(nn.Linear(500, 4), 4, stream(seed, "extra")) for seed in (0, 0, 1))
    assert torch.equal(first.weight, second.weight) and not torch.equal(first.weight, other.weight)
    assert first.weight.abs().max() < 0.05 and first.bias.item() == 0


def test_the_network_keeps_its_shape_and_no_hook_stays(toy):
    erased = run(toy).model
    assert [p.shape for p in erased.parameters()] == [p.shape for p in toy.model.parameters()]
    assert hooks(erased) == hooks(toy.model) == 0


class Breaks(nn.Module):
    """Fails at the third call while the layer has a hook."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.hooked = [layer], 0

    def forward(self, x):
        self.hooked += len(self.layer[0]._forward_pre_hooks)
        if self.hooked == 3:
            raise RuntimeError("injected")
        return x


def test_no_hook_stays_after_an_exception(toy, monkeypatch):
    heads, head = [], nn.Linear(64, 4)
    monkeypatch.setattr(boundary_expand, "heads_of", lambda model, K: heads.extend(heads_of(model, K)) or heads)
    with pytest.raises(RuntimeError, match="injected"):
        run(toy, model=nn.Sequential(nn.Flatten(), Breaks(head), head))
    assert len(heads) == 1 and hooks(heads[0]) == 0


def test_inputs_are_those_of_the_layer():
    layer, x = nn.Linear(2, 3), torch.randn(4, 2)
    with inputs_of([layer]) as called:
        layer(x)
    layer(x)
    assert len(called) == 1 and called[0][0] is layer and called[0][1] is x


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.spare = nn.Linear(64, 5), nn.Linear(64, 4)

    def forward(self, x):
        return self.body(x.flatten(1))[:, :4]


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(x.squeeze(1)).mean(1)


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 4) / 8)

    def forward(self, x):
        return x.flatten(1) @ self.weight


@pytest.mark.parametrize(
    "network",
    [
        lambda: nn.Sequential(nn.Conv2d(1, 4, 8), nn.Flatten()),
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        Unused,
        Tokens,
        Bare,
    ],
)
def test_any_head_will_do(toy, network):
    torch.manual_seed(0)
    outcome = run(toy, model=network(), lr=0.1, epochs=20)
    losses = [loss["ce further"] for loss in outcome.record.losses]
    assert losses[-1] < losses[0] - 0.5
    assert hooks(outcome.model) == 0


def test_a_convolution_as_head_is_the_linear_head_that_it_equals(toy):
    # A convolution as large as the image is a linear layer of its pixels, and so is the one beside it.
    conv, linear = (nn.Sequential(nn.Conv2d(1, 4, 8), nn.Flatten()), nn.Sequential(nn.Flatten(), nn.Linear(64, 4)))
    linear[1].load_state_dict({"weight": conv[0].weight.flatten(1), "bias": conv[0].bias})
    a, b = (run(toy, model=model, lr=0.1, **PLAIN).model for model in (conv, linear))
    assert torch.allclose(a[0].weight.flatten(1), b[1].weight, atol=1e-6)
    assert not torch.allclose(a[0].weight, conv[0].weight, atol=1e-3)


def test_the_head_is_the_layer_that_is_called_last_and_what_is_never_called_is_none(toy):
    torch.manual_seed(0)
    model = Unused()
    erased = run(toy, model=model).model
    assert torch.equal(erased.spare.weight, model.spare.weight)
    assert not torch.equal(erased.body.weight, model.body.weight)
