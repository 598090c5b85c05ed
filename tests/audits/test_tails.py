"""A few records that stand out, and classes that are still named."""

import math

import pytest
import torch

from sublimate.audits.outputs import Outputs
from sublimate.audits.proportions import clopper_pearson
from sublimate.audits.tails import by_class, class_tests, drawn_places, tail_tests
from sublimate.randomness import stream


def said(phi, labels=None):
    y = torch.zeros(len(phi), dtype=torch.long) if labels is None else torch.tensor(labels)
    z = torch.zeros(len(phi), 2).scatter(1, y[:, None], torch.tensor(phi)[:, None])
    return Outputs(z, z, z, y)


def test_places_by_hand():
    # Class 0 holds 1, 2, 3, 7, each a quarter of the way; class 1 holds 5 and 6, each a half.
    f, c = by_class(said([3.0, 7.0, 5.0], [0, 0, 1]), said([1.0, 2.0, 6.0], [0, 0, 1]))
    quarters = [f[0] * 4, f[1] * 4, c[0] * 4, c[1] * 4]
    assert [math.ceil(q) for q in quarters] == [3, 4, 1, 2] and [math.ceil(h) for h in (f[2] * 2, c[2] * 2)] == [1, 2]


def test_classes_of_one_side_are_left_out():
    f, c = by_class(said([2.0, 7.0], [0, 1]), said([1.0, 2.0], [0, 0]))
    assert len(f) == 1 and len(c) == 2


def test_a_class_with_one_never_seen_record_is_no_alarm(draw):
    """Few never-seen records must not make forgotten ones of their class look strange."""
    alarms = 0
    for seed in range(50):
        y = torch.arange(300) % 100
        forget, control = draw(0, 2 * seed, classes=100, labels=y), draw(0, 2 * seed + 1, classes=100, labels=y[:100])
        alarms += tail_tests(forget, control, seed)[-1].outcome == "different"
    assert alarms <= 1


def test_unequal_mixes_of_classes_are_no_alarm(draw):
    """Classes that differ in confidence and in number on both sides."""
    alarms = 0
    for seed in range(100):
        forget = draw(0, 2 * seed, classes=2, labels=[0] * 180 + [1] * 20)
        control = draw(0, 2 * seed + 1, classes=2, labels=[0] * 20 + [1] * 180)
        for out in (forget, control):
            out.z[out.labels == 1, 1] += 5
        alarms += tail_tests(forget, control, seed)[-1].outcome == "different"
    assert alarms <= 1


def test_records_above_and_below_are_counted_with_exact_intervals():
    forget, control = said([50.0] * 10 + [0.5] * 90), said([k / 100 for k in range(100)])
    tests = {test.name: test for test in tail_tests(forget, control, 0)}
    above, below = tests["found at 1.0% false alarms, above"], tests["found at 1.0% false alarms, below"]
    # One of a hundred may be above: the threshold is the second highest of control, .98.
    exact = clopper_pearson(10, 100)
    assert (above.value, above.low, above.high) == (0.1, exact.low, exact.high) and below.value == 0.0
    assert above.detail["false alarms"] == 0.01 and above.outcome == "reported"
    assert tests["found at 0.1% false alarms, above"].value == 0.1
    assert list(tests)[-1] == "ε, lower bound"


def test_epsilon_counts_in_both_directions_at_99_percent():
    low, high = said([float(k) for k in range(200)]), said([k + 1000.0 for k in range(200)])
    for forget, control, direction in ((high, low, "above"), (low, high, "below")):
        test = tail_tests(forget, control, 0)[-1]
        # 100 of 100 against 0 of 100 at α = .01: q = .005^(1/100), ε = log(q / (1 − q)).
        q = 0.005 ** (1 / 100)
        assert test.detail["ceiling"] == pytest.approx(math.log(q / (1 - q))) == pytest.approx(2.911, abs=1e-3)
        assert test.outcome == "different" and test.detail["direction"] == direction
        assert test.value > 2.8  # a record of the judged half may lie in the gap that the other half shows
        assert (test.n_forget, test.n_control, test.detail["confidence"]) == (100, 100, 0.99)


def test_one_record_has_no_epsilon():
    assert len(tail_tests(said([1.0]), said([1.0, 2.0]), 0)) == 4


@pytest.mark.parametrize(
    ("named", "n", "outcome"),
    # Lower ends at 99 %: of 1 of 1 .005, of 2 of 2 √.005 = .07, of 1 of 9 .0006, of 5 of 100 .0110, of 4 of 100 .0068.
    [(0, 50, "reported"), (1, 1, "reported"), (2, 2, "different"), (1, 9, "reported"), (5, 100, "different"),
     (4, 100, "reported")],
)  # fmt: skip
def test_a_class_is_known_when_it_is_named_by_more_than_chance(named, n, outcome):
    y = torch.tensor([1] * n + [0] * 7)
    z = torch.zeros(n + 7, 3)
    z[:n, 2] = 1.0
    z[:named, 1] = 2.0
    (test,) = class_tests(Outputs(z, z, z, y), torch.tensor([1]))
    assert (test.outcome, test.value, test.n_control, test.n_forget) == (outcome, named / n, n, 0)
    assert test.detail["says"].startswith(f"{named} of {n} never-seen records of the forgotten classes are still")


def test_being_called_by_another_forgotten_class_is_knowledge_too():
    z = torch.eye(3)[[2] * 20]
    (test,) = class_tests(Outputs(z, z, z, torch.ones(20, dtype=torch.long)), torch.tensor([1, 2]))
    assert test.value == 1.0 and test.outcome == "different"


def test_other_requests_and_classes_without_never_seen_records_are_not_asked(draw):
    assert class_tests(draw(30), torch.tensor([], dtype=torch.long)) == []
    assert class_tests(draw(30), torch.tensor([9])) == []


def test_no_bound_is_said_to_show_something(draw):
    equal, apart = (tail_tests(draw(200, 0, shift=by), draw(200, 1), 0)[-1] for by in (0.0, 3.0))
    assert equal.value == 0 and equal.detail["says"] == "by confidence no threshold is shown to tell records apart."
    assert apart.value > 0 and f"ε ≥ {apart.value:.2g}" in apart.detail["says"]


def test_a_large_class_among_many_small_ones_is_no_alarm(draw):
    """600 forgotten records of one class and one of each of 99; ten never-seen ones of each."""
    alarms = 0
    for seed in range(30):
        mine = torch.cat([torch.zeros(600, dtype=torch.long), torch.arange(1, 100)])
        forget = draw(0, 2 * seed, classes=100, labels=mine)
        control = draw(0, 2 * seed + 1, classes=100, labels=torch.arange(1000) % 100)
        alarms += tail_tests(forget, control, seed)[-1].outcome == "different"
    assert alarms <= 1


def test_equals_take_places_by_lot_and_all_of_the_way():
    places = drawn_places(torch.zeros(20000), stream(0))
    assert len(places.unique()) == 20000 and float(places.min()) >= 0 and float(places.max()) < 1
    assert float(places[:10000].mean()) == pytest.approx(0.5, abs=0.02)
