"""White box: the right features and an honest probe."""

import pytest
import torch
from torch import nn

from sublimate.audits.whitebox import LEAST, class_probe, features, linear_layers, membership_probe, probe
from sublimate.data import load
from sublimate.errors import InputRefused
from sublimate.models.registry import build
from sublimate.splits import Part, split
from sublimate.testing.toy import ZOO, network
from sublimate.training import find_recipe, fit


class Masked(nn.Module):
    """A network whose class is hidden behind its logits."""

    def __init__(self, inner, k):
        super().__init__()
        self.inner, self.k = inner, k

    def forward(self, x):
        return self.inner(x).index_fill(1, torch.tensor([self.k]), float("-inf"))


def one_group(n):
    return torch.zeros(n, dtype=torch.long)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_features_are_the_input_of_the_last_layer(toy):
    part = Part(toy.data, toy.data.test, "test")
    x = toy.data.normalise(toy.data.read(part.rows)[0])
    with torch.no_grad():
        assert torch.allclose(features(toy.model, part), toy.model[:5](x), atol=1e-6)
    assert torch.equal(features(Masked(toy.model, 1), part), features(toy.model, part))


def test_features_of_a_pointwise_head_are_averaged_over_space(toy):
    body = nn.Sequential(nn.Conv2d(1, 6, 1), nn.ReLU(), nn.Conv2d(6, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    part = Part(toy.data, toy.data.test[:7], "test")
    with torch.no_grad():
        expected = body[:2](toy.data.normalise(toy.data.read(part.rows)[0])).mean((2, 3))
    assert torch.allclose(features(body, part), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ZOO)
def test_every_kind_of_network_gives_features_and_stays_as_it_was(kind, toy):
    model = ZOO[kind]().train()
    part = Part(toy.data, toy.data.test, "test")
    found = features(model, part)
    assert found.shape[0] == len(part) and not found.is_inference()
    assert all(m.training and not m._forward_pre_hooks for m in model.modules())


def test_a_network_without_a_usable_head_is_refused_and_no_hook_stays(toy):
    part = Part(toy.data, toy.data.test, "test")
    with pytest.raises(InputRefused, match="No linear layer with 4 outputs"):
        features(nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()), part)
    idle = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
    idle[1].unused = nn.Linear(4, 4)
    with pytest.raises(InputRefused, match="one row of features per record"):
        features(idle, part)
    model = network()
    model[0].register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(InputRefused, match="division by zero"):
        features(model, part)
    assert not model[5]._forward_pre_hooks


def test_the_last_layer_is_found_among_linear_ones_and_pointwise_convolutions():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 1), nn.Linear(4, 4), nn.Linear(4, 8))
    assert [name for name, _ in linear_layers(model, 4)] == ["1", "2"]
    assert [name for name, _ in linear_layers(model)] == ["1", "2", "3"]


def test_a_probe_finds_what_is_there_and_scores_only_what_it_was_not_fitted_on():
    far = probe(normal(21, 3) + 9, normal(30, 3, seed=1) - 9, one_group(21), one_group(30))
    assert far.auc == 1.0 and (len(far.found), len(far.others)) == (10, 15)
    # Ten times more features than records are separated at will, but only where they were fitted on.
    noise = probe(normal(40, 400), normal(40, 400, seed=1), one_group(40), one_group(40))
    assert 0.2 < noise.auc < 0.8


def test_a_class_that_is_frequent_on_one_side_is_no_membership():
    mine, theirs = (torch.tensor([0] * a + [1] * b) for a, b in ((90, 10), (10, 90)))
    found = probe(nn.functional.one_hot(mine).float(), nn.functional.one_hot(theirs).float(), mine, theirs)
    assert found.auc == 0.5  # within a class all are tied
    scores = torch.cat([found.found, found.others])
    assert float(scores.max() - scores.min()) < 0.2  # and the weights leave the probe nothing to learn
    naive = probe(
        nn.functional.one_hot(mine).float(), nn.functional.one_hot(theirs).float(), one_group(100), one_group(100)
    )
    assert naive.auc > 0.8


def test_probes_repeat_and_depend_on_the_seed():
    sides = normal(30, 4), normal(30, 4, seed=1), one_group(30), one_group(30)
    assert torch.equal(probe(*sides, seed=3).found, probe(*sides, seed=3).found)
    assert not torch.equal(probe(*sides, seed=3).found, probe(*sides, seed=4).found)


def test_membership_is_asked_within_shared_classes_and_needs_enough_records(toy):
    train, test = (Part(toy.data, rows, "part") for rows in (toy.data.train, toy.data.test))
    found = membership_probe(toy.model, train.where(train.labels < 3), test.where(test.labels > 0))
    assert found is not None and set(found.found_groups.tolist()) == set(found.others_groups.tolist()) == {1, 2}
    few = Part(toy.data, toy.data.train[: LEAST - 1], "few")
    assert membership_probe(toy.model, few, test) is None
    assert membership_probe(toy.model, Part(toy.data, toy.data.train[:LEAST], "few"), test) is not None


def test_a_class_probe_is_for_whole_classes(toy):
    assert class_probe(toy.model, split(toy.data, "class:b@50%")) is None
    found = class_probe(toy.model, split(toy.data, "class:b"))
    assert found is not None and found.auc == 1.0


@pytest.fixture(scope="session")
def digits():
    """An original, one that never saw a three, and the split that asks for the threes."""
    s = split(load("digits"), "class:3")

    def trained(rows, seed):
        recipe = find_recipe("fast", epochs=2, batch_size=64, views="none")
        part = Part(s.data, rows, "train")
        return fit(lambda: build("small-cnn", 10, channels=1, size=8), part, recipe, seed=seed)[0]

    return s, trained(s.data.train, 0), trained(s.retain, 1)


def test_the_probe_sees_a_class_through_a_logit_mask(digits):
    s, original, retrained = digits
    seen, masked, honest = (class_probe(model, s) for model in (original, Masked(original, 3), retrained))
    assert torch.equal(masked.found, seen.found) and torch.equal(masked.others, seen.others)
    assert seen.auc > 0.95 and len(honest.found) == len(seen.found)
