"""The crowd: AUCs within classes worked by hand, honest halves, and what is alike, different or neither."""

import math

import pytest
import torch

from sublimate.audits.intervals import Interval
from sublimate.audits.outputs import Outputs
from sublimate.audits.population import SCORERS, Compared, compare, on_clean, population_tests, split_control
from sublimate.audits.signals import SIGNALS
from sublimate.errors import InputRefused

PHI = {"confidence": SCORERS["confidence"]}


def said(phi, labels=None):
    """Two classes: the logit of the label is φ, the other one is 0, so that φ is the confidence."""
    y = torch.zeros(len(phi), dtype=torch.long) if labels is None else torch.tensor(labels)
    z = torch.zeros(len(phi), 2).scatter(1, y[:, None], torch.tensor(phi)[:, None])
    return Outputs(z, z, z, y)


def interval(value, se=0.01):
    return Interval(value, value - 2 * se, value + 2 * se, se, 2000, 2000, se, value * (1 - value) / se**2)


def test_pairs_are_compared_within_a_class():
    # Class 0: 3 beats 1 and 2, 0 beats none: 2 of 4 pairs.  Class 1: 9 beats 5: 1 of 1.  Weights 2/3 and 1/3.
    found = compare(said([3.0, 0.0, 9.0], [0, 0, 1]), said([1.0, 2.0, 5.0], [0, 0, 1]), PHI)
    i = found.found["confidence"]
    assert i.value == pytest.approx(2 / 3) and (i.n, i.m) == (3, 3)
    assert found.excess == pytest.approx(1 / 6)
    # Variances of alike groups: (2 + 2 + 1) / (12 · 2 · 2) and (1 + 1 + 1) / 12.
    assert found.null_se == pytest.approx(math.sqrt((2 / 3) ** 2 * 5 / 48 + (1 / 3) ** 2 * 3 / 12))


def test_every_score_is_higher_for_what_looks_trained_on(draw):
    sure, unsure = draw(300, shift=3.0), draw(300, 1, shift=-1.0)
    found = compare(sure, unsure)
    assert list(found.found) == ["confidence", "loss", "entropy", "margin", "agreement of views"]
    assert all(i.value > 0.5 for i in found.found.values())
    assert found.found["confidence"].value == found.found["loss"].value  # the same order


def test_p_values_are_corrected_and_the_most_telling_score_comes_first():
    scorers = {"none": on_clean(lambda z, y: torch.zeros(len(z))), **PHI, "back": on_clean(lambda z, y: -z[:, 0])}
    found = compare(said([float(k) for k in range(20)]), said([k - 30.0 for k in range(20)]), scorers)
    # 20 against 20, all told apart: z = .5 / √(41 / 4800) = 5.41, p = 6.3e-8; Holm: · 3, and the other · 3 too.
    p = math.erfc(0.5 / math.sqrt(41 / 4800) / math.sqrt(2))
    assert found.p_different["confidence"] == pytest.approx(3 * p) == pytest.approx(found.p_different["back"])
    assert found.p_different["none"] == 1.0
    assert found.different() == ["confidence", "back"] and found.different(1e-9) == []
    assert Compared({"a": interval(0.6), "b": interval(0.2)}, {"a": 0.01, "b": 0.04}).different() == ["b", "a"]


def test_what_is_not_a_number_and_what_shares_no_class_is_refused():
    with pytest.raises(InputRefused, match="not a number"):
        compare(said([float("nan")]), said([1.0]))
    with pytest.raises(InputRefused, match="share no class"):
        compare(said([1.0], [0]), said([1.0], [1]))


def test_halves_hold_every_record_once_and_half_of_each_class(draw):
    control = draw(101, classes=3)
    one, two = split_control(control, seed=5)
    assert sorted(torch.cat([one.z, two.z])[:, 0].tolist()) == sorted(control.z[:, 0].tolist())
    for k in range(3):
        sizes = [int((half.labels == k).sum()) for half in (one, two)]
        assert abs(sizes[0] - sizes[1]) <= 1 and sum(sizes) == int((control.labels == k).sum())
    assert not torch.equal(one.z, split_control(control, seed=6)[0].z)


@pytest.mark.parametrize(
    ("value", "p", "outcome"),
    [
        (0.50, 1.0, "alike"),  # (0 − .05) / .01: five errors from the edge
        (0.52, 0.03, "alike"),  # sure to be no .5, and sure to be within δ
        (0.48, 0.03, "alike"),
        (0.535, 0.06, "unresolved"),  # 1.5 errors from the edge, 1.645 are needed
        (0.535, 0.04, "different"),
        (0.465, 0.04, "different"),
        (0.60, 1e-9, "different"),
        (0.40, 1e-9, "different"),
        (0.60, 0.05, "unresolved"),
    ],
)
def test_outcomes(value, p, outcome):
    (test,) = population_tests(Compared({"loss": interval(value)}, {"loss": p}), 0.05)
    assert (test.outcome, test.name, test.tier) == (outcome, "AUC, loss", 1)
    assert (test.value, test.p_different, test.n_forget, test.n_control) == (value, p, 2000, 2000)


def test_an_adapter_gives_logits_and_labels(draw):
    out = draw(9)
    assert torch.equal(on_clean(SIGNALS["margin"])(out), SIGNALS["margin"](out.z, out.labels))
