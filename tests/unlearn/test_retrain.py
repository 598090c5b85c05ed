"""The two ends: Original does nothing, Retrain keeps nothing."""

import copy

import pytest
import torch
from torch import nn

from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.splits import Part
from sublimate.training import find_recipe, fit
from sublimate.unlearn.job import Job
from sublimate.unlearn.original import Original
from sublimate.unlearn.retrain import Retrain


def run(method, toy, model=None, **extra):
    s = toy.split
    return method.run(model or toy.model, s.forget_set, s.retain_set, ratios=s.ratios, val=s.val_set, **extra)


def equal(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_original_is_an_equal_copy(toy):
    outcome = run(Original(), toy)
    assert equal(outcome.model, toy.model)
    assert outcome.model is not toy.model and outcome.model[0].weight is not toy.model[0].weight
    assert outcome.record.samples == outcome.record.choices == {} and outcome.record.losses == []


def fresh(toy, seed):
    """The random weights that Retrain starts from."""
    s = toy.split
    parts = {"forget": s.forget_set, "retain": s.retain_set, "val": None, "ratios": s.ratios}
    job = Job(model=toy.model, original=toy.model, **parts, seed=seed, device=torch.device("cpu"))
    return job.fresh("retrain").requires_grad_(True)


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_retrain_is_plain_training_from_the_same_weights(toy, recipe):
    s, seed = toy.split, 3
    part = Part(toy.data, s.retain, "retain")  # the order of the records follows the name of the part
    chosen = find_recipe(recipe, epochs=4, views="none")
    expected, _ = fit(lambda: fresh(toy, seed), part, chosen, seed=seed)
    method = Retrain(recipe=recipe, epochs=4, views="none", seed=seed)
    outcome = method.run(toy.model, s.forget_set, s.retain_set, ratios=s.ratios)  # without val nothing is judged
    assert equal(outcome.model, expected)
    assert outcome.record.samples == method.reads(60, 180) == {"retain": 720}


def test_nothing_of_the_original_is_left(toy):
    outcome = run(Retrain(epochs=8), toy)
    constant = {"1.weight", "1.bias"}  # of batch norm: a fresh network has the same ones and zeros
    pairs = [
        (p.flatten(), q.flatten())
        for (name, p), q in zip(outcome.model.named_parameters(), toy.model.parameters(), strict=True)
        if name not in constant
    ]
    mine, theirs = (torch.cat(side) for side in zip(*pairs, strict=True))
    assert float((mine == theirs).float().mean()) < 0.01
    assert not torch.equal(outcome.model[1].running_mean, toy.model[1].running_mean)


def test_the_result_depends_on_nothing_but_the_kind_of_the_network(toy):
    other = copy.deepcopy(toy.model)
    for tensor in other.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(1.0)
    s = toy.split
    first, second = (
        Retrain(epochs=2).run(m, s.forget_set, s.retain_set, ratios=s.ratios).model for m in (toy.model, other)
    )
    assert equal(first, second)


def test_what_is_frozen_stays_and_is_named(toy):
    model = copy.deepcopy(toy.model)
    model[0].weight.requires_grad_(False)
    outcome = run(Retrain(epochs=8), toy, model)
    assert torch.equal(outcome.model[0].weight, model[0].weight)
    assert not torch.equal(outcome.model[0].bias, model[0].bias)
    assert outcome.record.choices["frozen_kept"] == ["0.weight"]


class Bare(nn.Module):
    """A weight that nobody can reset."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(64, 4) / 8)

    def forward(self, x):
        return x.flatten(1) @ self.w


def test_a_factory_helps_where_weights_cannot_be_reset(toy):
    torch.manual_seed(0)
    s, model = toy.split, Bare()
    with pytest.raises(InputRefused, match="factory"):
        Retrain(epochs=1).run(model, s.forget_set, s.retain_set, ratios=s.ratios)
    outcome = Retrain(epochs=1).run(model, s.forget_set, s.retain_set, ratios=s.ratios, factory=Bare)
    assert not torch.isclose(outcome.model.w, model.w).any(dim=1).all()


def test_too_short_a_training_is_said(toy):
    with pytest.raises(UnlearningFailed, match="collapsed") as failure:
        run(Retrain(recipe="paper", epochs=1), toy)  # two updates at a tiny rate: still at chance
    assert failure.value.remedy == "Train for more epochs."
