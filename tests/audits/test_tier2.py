"""The second tier: corrections, what counts, and what is said where nothing can be done."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from sublimate.audits import beside, outside
from sublimate.audits.beside import neighbour_classes, record_by_record
from sublimate.audits.inside import classes_in_features, membership_in_features, unchanged_weights
from sublimate.audits.intervals import Interval
from sublimate.audits.looking import Hint, Look, auc_hint, hint
from sublimate.audits.outside import nearby, relearned
from sublimate.audits.relearning import Relearning
from sublimate.audits.tier2 import corrected, look_closer
from sublimate.audits.updating import Attack, Standing
from sublimate.data import load
from sublimate.models.registry import build
from sublimate.splits import Part, split
from sublimate.testing.world import differences, surroundings
from sublimate.training import find_recipe, fit

NONE = torch.tensor([], dtype=torch.long)


def look(problem, model, references=(), **changes):
    gone = (problem.split.ratios >= 1).nonzero().flatten()
    return Look(model, problem.original, problem.split, gone, references, 0.05, 0, **changes)


def named(found, begin):
    return [
        one.test if isinstance(one, Hint) else one for one in found if getattr(one, "test", one).name.startswith(begin)
    ]


def interval(value, se):
    return Interval(value, value - 2 * se, value + 2 * se, se, 100, 100, se, value * (1 - value) / se**2)


def test_correction_by_hand(by_heart):
    at = look(by_heart, by_heart.original)

    def one(p, counts=True, **more):
        return hint(at, "x", "…", 1.0, p=p, counts=counts, **more)

    # Holm over four p-values: .002 · 4, .003 · 3 but not less than .008, .02 · 2, .5.
    found = corrected([one(0.02), one(None), one(0.002), one(0.5), one(0.003, counts=False)])
    assert [test.p_different for test in found] == [
        pytest.approx(0.04),
        None,
        pytest.approx(0.008),
        0.5,
        pytest.approx(0.009),
    ]
    assert [test.outcome for test in found] == ["reported", "reported", "different", "reported", "reported"]
    assert [test.outcome for test in corrected([one(1e-9, outcome="different"), one(None, outcome="different")])] == [
        "different", "different",
    ]  # fmt: skip
    assert corrected([]) == []


def test_within_delta_a_sure_difference_is_alike_and_beyond_it_is_not(by_heart):
    at = look(by_heart, by_heart.original)
    values = (0.52, 0.48, 0.56, 0.44)
    found = corrected([auc_hint(at, "RMIA", "…", interval(value, 0.001)) for value in values])
    assert [test.outcome for test in found] == ["alike", "alike", "different", "different"]
    found = corrected([auc_hint(at, "RMIA", "…", interval(value, 0.001), only_above=True) for value in values])
    assert [test.outcome for test in found] == ["alike", "alike", "different", "reported"]


def test_the_original_shows_everywhere_and_retrain_nowhere(by_heart):
    original, retrained = by_heart.original, by_heart.retrained
    at = look(by_heart, original, retrained[1:])
    found = {test.name: test for test in look_closer(at)}
    for name in ("Unchanged weights", "Relearning, 0 shown", "Relearning, 50 shown", "Extreme records", "RMIA"):
        assert found[name].outcome == "different", name
    assert at.steps == 200 and at.images > 10_000 and at.skipped == []
    honest = look(by_heart, retrained[0], retrained[1:])
    assert {test.outcome for test in look_closer(honest)} <= {"alike", "reported"}


def test_without_references_the_reason_is_noted(by_heart):
    at = look(by_heart, by_heart.retrained[0])
    found = look_closer(at)
    assert not named(found, ("RMIA", "Extreme"))
    assert [(s.what, s.why) for s in at.skipped] == [
        ("record by record", "There is no clean reference network. Give a Retrain with --reference.")
    ]


def test_weights_that_were_not_changed(by_heart):
    original = by_heart.original
    (test,) = named(unchanged_weights(look(by_heart, copy.deepcopy(original))), "Unchanged")
    assert test.outcome == "different" and test.value == 1.0 and "every weight" in test.detail["says"]
    edited = copy.deepcopy(original)
    with torch.no_grad():
        edited[3].bias[1] -= 20
    (test,) = named(unchanged_weights(look(by_heart, edited)), "Unchanged")
    # All but one of 64 · 256 + 256 + 256 · 4 + 4 numbers.
    assert test.outcome == "different" and test.value == 1 - 1 / 17668 and "only the last layer" in test.detail["says"]
    with torch.no_grad():
        edited[1].bias[0] += 1
    assert named(unchanged_weights(look(by_heart, edited)), "Unchanged")[0].outcome == "reported"


class Still(nn.Module):
    """Has no weights."""

    def forward(self, x):
        return x.flatten(1)[:, :4]


def test_a_network_without_weights_and_layers_is_looked_at_from_outside(by_heart):
    at = look(replace(by_heart, original=Still()), Still(), [Still()])
    at.split = replace(at.split, forget=at.split.forget[:60], control=at.split.control[:80])
    found = look_closer(at)
    assert [s.what for s in at.skipped] == ["unchanged weights", "membership in features", "relearned"]
    assert at.undone == at.skipped
    assert named(found, "Neighbourhood")


def test_one_record_is_looked_at_as_far_as_it_goes(by_heart):
    at = look(by_heart, by_heart.retrained[0], by_heart.retrained[1:])
    at.split = split(by_heart.data, "id:7")
    found = look_closer(at)
    assert {test.name for test in found} >= {"Relearning, 0 shown", "Neighbourhood, fgsm", "RMIA", "Extreme records"}
    assert {s.what for s in at.skipped} == {"membership in the features", "relearning"} and at.undone == []
    assert not [test for test in found if test.outcome == "different"]


def attack(shown, known, n=100, labels=None):
    """After it the first `known` of n other records are called right."""
    y = torch.ones(n, dtype=torch.long) if labels is None else labels
    before, after = (Standing(torch.arange(n) < k, torch.arange(float(n)), y) for k in (0, known))
    return Attack(shown=shown, updates=40, others=(before, after), control=(before, after), updates_to_target=None)


@pytest.mark.parametrize(
    ("mine", "references", "points", "outcome"),
    [
        ((50, 70), [(10, 20)], 45.0, "different"),
        ((90, 100), [(80, 85)], 12.5, "reported"),  # one reference does not say what chance does: 20 points are needed
        ((90, 100), [(80, 85)] * 2, 12.5, "different"),
        ((50, 70), [(10, 20)] * 2, 45.0, "different"),
        ((10, 20), [(50, 70)] * 2, -45.0, "reported"),  # slower is no sign of memory
        ((0, 90), [(90, 0)] * 2, 0.0, "reported"),  # as fast on the whole: the order at one n says nothing
        ((90, 94), [(80, 85)] * 2, 9.5, "reported"),  # surely faster, but by less than 10 points
        ((90, 96), [(80, 85)] * 2, 10.5, "different"),
        ((50, 54), [(10, 10)] * 2, 42.0, "reported"),  # the original knew 100 %: 45 points are half of the way
        ((50, 62), [(10, 10)] * 2, 46.0, "different"),
        ((50, 50), [(10, 10), (30, 30)], 30.0, "reported"),  # two references lie 20 points apart: 40 are needed
        ((62, 62), [(10, 10), (30, 30)], 42.0, "different"),
        ((70, 70), [(28, 28), (30, 30)], 41.0, "different"),
    ],
)
def test_the_return_of_a_class_over_all_attacks(one_class, monkeypatch, mine, references, points, outcome):
    def made(levels):
        return tuple(attack(n, known) for n, known in zip((0, 5), levels, strict=True))

    given = Relearning(
        target=50.0, erased=made(mine), retrained=tuple(map(made, references)), skipped=("why",), images=7
    )
    monkeypatch.setattr(outside, "relearning", lambda *_, **__: given)
    at = look(one_class, one_class.original, one_class.retrained)
    (test,) = named(corrected([one for one in relearned(at) if one.test.name.startswith("Return")]), "Return")
    assert test.value == pytest.approx(points) and test.outcome == outcome and test.n_forget == 100
    assert at.images == 7 and at.skipped[0].why == "why" and at.steps == 80 * (1 + len(references))


def test_only_records_of_wholly_forgotten_classes_can_return(one_class, monkeypatch):
    labels = torch.tensor([1] * 40 + [0] * 60)
    given = Relearning(
        target=50.0, erased=(attack(0, 20, labels=labels), attack(1, 40)), retrained=((attack(0, 0, labels=labels),),),
        skipped=(), images=0,
    )  # fmt: skip
    monkeypatch.setattr(outside, "relearning", lambda *_, **__: given)
    (found,) = named(relearned(look(one_class, one_class.original, one_class.retrained[:1])), "Return")
    assert found.value == 50.0 and found.n_forget == 40 and "over 1 attacks" in found.detail["says"]
    empty = replace(given, retrained=((),))
    monkeypatch.setattr(outside, "relearning", lambda *_, **__: empty)
    at = look(one_class, one_class.original, one_class.retrained[:1])
    assert not named(relearned(at), "Return") and at.skipped[-1].what == "return of the class"


def test_relearned_records_are_compared_within_their_class(by_heart, monkeypatch):
    """Class 1 scores higher and is frequent among the others; within the classes there is no difference."""
    others = Standing(torch.ones(100), torch.tensor([0.0] * 10 + [9.0] * 90), torch.tensor([0] * 10 + [1] * 90))
    control = Standing(torch.ones(100), torch.tensor([0.0] * 90 + [9.0] * 10), torch.tensor([0] * 90 + [1] * 10))
    one = Attack(shown=0, updates=40, others=(others,) * 2, control=(control,) * 2, updates_to_target=None)
    given = Relearning(target=50.0, erased=(one,), retrained=(), skipped=("comparison: none",), images=0)
    monkeypatch.setattr(outside, "relearning", lambda *_, **__: given)
    at = look(by_heart, by_heart.original)
    (found,) = relearned(at)
    assert found.test.value == 0.5 and found.p == 1.0
    assert at.skipped == []  # records need no comparison with a reference


@pytest.fixture(scope="module")
def threes():
    """Digits without threes: an original, three that never saw one, and the original with a lower last bias."""
    s = split(load("digits"), "class:3")

    def trained(rows, seed):
        recipe = find_recipe("fast", epochs=2, batch_size=64, views="none")
        return fit(lambda: build("small-cnn", 10, channels=1, size=8), Part(s.data, rows, "train"), recipe, seed=seed)[
            0
        ]

    original, *retrained = trained(s.data.train, 0), *(trained(s.retain, seed) for seed in (1, 2, 3))
    edited = copy.deepcopy(original)
    with torch.no_grad():
        edited.linear.bias[3] -= 5.0
    return SimpleNamespace(split=s, original=original, retrained=retrained), edited


@pytest.mark.slow
def test_a_hidden_class_comes_back_and_an_unknown_one_does_not(threes):
    problem, edited = threes
    for model, outcome in ((edited, "different"), (problem.retrained[0], "reported")):
        found = corrected(relearned(look(problem, model, problem.retrained[1:])))
        assert named(found, "Return")[0].outcome == outcome


def test_extreme_records_are_no_question_for_whole_classes(one_class):
    at = look(one_class, one_class.original, one_class.retrained[:2])
    assert [test.name for test in named(record_by_record(at), "")] == ["RMIA"]
    assert at.skipped[0].what == "extreme records" and "no yardstick" in at.skipped[0].why


def test_neighbour_classes_need_two_references_and_a_clear_distance(one_class):
    def uniform(model):
        """Knows nothing of class b and calls it by anything."""
        return nn.Sequential(model, Even())

    class Even(nn.Module):
        def forward(self, z):
            return torch.where((z.argmax(1) == 1)[:, None], torch.tensor([5.0, -9.0, -9.0, -9.0]), z)

    retrained = one_class.retrained
    (honest,) = named(neighbour_classes(look(one_class, retrained[0], retrained[1:])), "Neighbour")
    (odd,) = named(neighbour_classes(look(one_class, uniform(one_class.original), retrained[1:])), "Neighbour")
    (single,) = named(neighbour_classes(look(one_class, uniform(one_class.original), retrained[1:2])), "Neighbour")
    assert (honest.outcome, odd.outcome, single.outcome) == ("reported", "different", "reported")
    assert odd.name == "Neighbour classes, b" and "two halves" in single.detail["says"]


def test_requests_of_records_are_not_asked_for_classes(by_heart):
    at = look(by_heart, by_heart.retrained[0], by_heart.retrained[1:])
    assert neighbour_classes(at) == classes_in_features(at) == []
    assert [h.test.name for h in membership_in_features(at)] == ["Membership in the features"]


def test_the_population_is_set_aside_and_never_val(by_heart, monkeypatch):
    at, asked = look(by_heart, by_heart.retrained[0], by_heart.retrained[1:]), []
    answered = beside.answers
    monkeypatch.setattr(beside, "answers", lambda m, r, part: asked.append(part.rows) or answered(m, r, part))
    (rmia,) = named(record_by_record(at), "RMIA")
    assert rmia.n_control == 600  # of 800
    assert len(at.split.val) and not torch.isin(torch.cat(asked), at.split.val).any()
    monkeypatch.undo()
    at.split = replace(at.split, control=at.split.control[:1])
    look_closer(at)
    assert any("too few never-seen records to set some aside" in s.why for s in at.skipped)


def test_the_neighbourhood_is_that_of_the_same_classes(by_heart):
    at = look(by_heart, by_heart.original)
    at.split = replace(at.split, forget=at.split.forget[by_heart.data.labels[at.split.forget] == 2])
    found = named(nearby(at), "Neighbourhood")
    same = int((by_heart.data.labels[at.split.control] == 2).sum())
    assert [test.name for test in found] == ["Neighbourhood, views", "Neighbourhood, noise", "Neighbourhood, fgsm"]
    assert all(test.n_control == same for test in found)
    assert at.images == 13 * (len(at.split.forget) + same)


def test_nothing_of_the_callers_changes(by_heart):
    networks = [by_heart.original, *by_heart.retrained]
    networks[1].train()
    try:
        before = [surroundings(network) for network in networks]
        look_closer(look(by_heart, networks[1], networks[2:]))
        for one, network in zip(before, networks, strict=True):
            assert not differences(one, surroundings(network))
    finally:
        networks[1].eval()
