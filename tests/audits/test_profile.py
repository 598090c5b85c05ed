"""Neighbour-class profiles: by hand, against a slow bootstrap, and on networks that never knew a class."""

from dataclasses import replace
from math import log

import pytest
import torch
from torch import nn

from sublimate.audits.profile import divergence, forgotten_classes, halves, profiles
from sublimate.data import load
from sublimate.data.core import Data
from sublimate.models.registry import build
from sublimate.randomness import stream
from sublimate.splits import Part, split
from sublimate.training import find_recipe, fit

# JS((1, 0), (½, ½)) = H(¾, ¼) − ½ ln 2
JS = -0.75 * log(0.75) - 0.25 * log(0.25) - 0.5 * log(2)


class Says(nn.Module):
    """A network that always gives the same probabilities, up to a factor."""

    def __init__(self, *p):
        super().__init__()
        self.p = torch.tensor(p)

    def forward(self, x):
        return self.p.log().expand(len(x), -1)


def table(test_labels):
    """Two training rows of each of four classes, then test rows; a validation row keeps these whole as control."""
    labels = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3, *test_labels, 0])
    x = torch.zeros(len(labels), 1, 1, 1)
    return Data(name="toy", images=x, labels=labels, sizes=(8, len(test_labels), 1), classes=("a", "b", "c", "d"))


def test_profile_by_hand():
    # Of a forgotten "b" the one network says a, the other a or c alike; what either gives b itself does not count.
    mine, theirs = Says(0.1, 0.9, 1e-30, 1e-30), Says(0.25, 0.5, 0.25, 1e-30)
    (found,) = profiles(mine, theirs, split(table([1, 1, 1, 0, 2]), "class:b"), another=mine, resamples=10)
    assert (found.name, found.n, found.classes) == ("b", 3, ("a", "c", "d"))
    assert found.erased.tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert found.retrained.tolist() == pytest.approx([0.5, 0.5, 0.0])
    # All images are answered alike, so no resample differs.
    for same in (found.divergence, found.seeds):
        assert [same.js, same.low, same.high] == pytest.approx([JS, JS, JS])
    assert [found.halves.js, found.halves.low, found.halves.high] == pytest.approx([0, 0, 0], abs=1e-12)


def test_each_forgotten_class_has_its_own_profile_on_never_seen_images():
    even = Says(0.25, 0.25, 0.25, 0.25)
    found = profiles(even, even, split(table([1, 1, 3, 3, 3, 0, 2]), "class:b,d"))
    assert [(p.name, p.n, p.classes, p.seeds) for p in found] == [
        ("b", 2, ("a", "c"), None),
        ("d", 3, ("a", "c"), None),
    ]


@pytest.mark.parametrize(
    ("request_", "test_labels"), [("id:0,2", [0, 1]), ("class:b@50%", [1, 1]), ("class:b", [1, 0])]
)
def test_no_profile_without_a_whole_class_and_two_images(request_, test_labels):
    even = Says(0.25, 0.25, 0.25, 0.25)
    assert profiles(even, even, split(table(test_labels), request_)) == ()


def test_a_class_is_forgotten_when_none_of_it_is_kept_however_it_was_asked():
    assert forgotten_classes(split(table([0, 1]), "id:2,3,4")).tolist() == [1]  # both of b, one of c


def test_divergence_equals_a_slow_bootstrap():
    g = torch.Generator().manual_seed(0)
    p, q = (torch.rand(7, 3, generator=g, dtype=torch.double).softmax(1) for _ in range(2))
    found = divergence(p, q, 50, stream(3, "boot"))

    def slow_js(one, two):
        middle = (one + two) / 2
        return float((one * (one / middle).log() + two * (two / middle).log()).sum() / 2)

    draws = torch.randint(7, (50, 7), generator=stream(3, "boot"))
    values = sorted(slow_js(p[draw].mean(0), q[draw].mean(0)) for draw in draws)
    assert found.js == pytest.approx(slow_js(p.mean(0), q.mean(0)))
    # The 2.5 % quantile of 50 values lies .025 · 49 = 1.225 steps from the lowest.
    assert found.low == pytest.approx(values[1] + 0.225 * (values[2] - values[1]))
    assert found.high == pytest.approx(values[-2] - 0.225 * (values[-2] - values[-3]))


def test_halves_share_no_record():
    p = torch.eye(4, dtype=torch.double)
    found = halves(p, 20, stream(0, "halves"))
    assert [found.js, found.low, found.high] == pytest.approx([log(2)] * 3)  # disjoint whatever is drawn


@pytest.fixture(scope="session")
def trained():
    """Retrain twice without the threes, and once with the threes under random labels of the others."""
    s = split(load("digits"), "class:3")
    labels, n = s.data.labels.clone(), len(s.forget)
    others = torch.tensor([0, 1, 2, 4, 5, 6, 7, 8, 9])
    labels[s.forget] = others[torch.randint(9, (n,), generator=torch.Generator().manual_seed(0))]

    def network(data, rows, seed):
        recipe = find_recipe("fast", epochs=2, batch_size=64, views="none")
        return fit(lambda: build("small-cnn", 10, channels=1, size=8), Part(data, rows, "train"), recipe, seed=seed)[0]

    return (
        s,
        network(s.data, s.retain, 0),
        network(s.data, s.retain, 1),
        network(replace(s.data, labels=labels), s.data.train, 2),
    )


def test_random_labels_are_seen_and_another_seed_is_not(trained):
    s, retrained, another, randomised = trained
    (found,) = profiles(randomised, retrained, s, another=another)
    assert found.divergence.low > found.seeds.high
    (same,) = profiles(another, retrained, s, another=another)
    assert same.divergence.js == pytest.approx(same.seeds.js)
    (again,) = profiles(randomised, retrained, s, another=another)
    assert (again.divergence, again.halves, again.seeds) == (found.divergence, found.halves, found.seeds)
