"""The chance of a PASS where nothing is left: by hand, and against the audit's own tests on drawn records."""

from __future__ import annotations

from statistics import NormalDist

import pytest
import torch
from scipy.stats import spearmanr

from sublimate.audits.chance import chance_alike, estimated_se, rank_correlation
from sublimate.audits.intervals import auc_interval, null_se
from sublimate.audits.outputs import Outputs
from sublimate.audits.population import SCORERS, compare, population_tests
from sublimate.audits.statistics import tost
from sublimate.randomness import stream

# δ .05 at a standard error of .015: (.05 − 1.644854 · 2 · .015 · √.2475) / .015 = 1.696731 standard errors are left.
ALONE = 2 * NormalDist().cdf(1.696731) - 1


def answers(n: int, seed: int = 0, classes: int = 3) -> Outputs:
    g = stream(seed)
    labels = torch.randint(classes, (n,), generator=g)
    z = torch.randn(n, classes, generator=g)
    z[torch.arange(n), labels] += 1.0 + labels  # classes of different ease
    v1, v2 = (z + torch.randn(z.shape, generator=g) for _ in range(2))
    return Outputs(z, v1, v2, labels)


@pytest.mark.parametrize(
    ("correlation", "expected"),
    [
        (torch.eye(1), ALONE),
        (torch.eye(3), ALONE**3),
        (torch.ones(4, 4), ALONE),
        (-torch.ones(2, 2) + 2 * torch.eye(2), ALONE),
    ],
)
def test_by_hand(correlation, expected):
    assert chance_alike(0.05, 0.015, correlation) == pytest.approx(expected, abs=0.01)


def test_too_few_records_never_show_it_and_very_many_always_do():
    assert chance_alike(0.05, 0.05, torch.eye(5)) == 0.0
    assert chance_alike(0.05, 0.001, torch.eye(5)) == 1.0


def test_what_the_audit_calls_too_few_records_never_passes():
    assert chance_alike(0.05, 0.05 / 2.93 * 0.999, torch.eye(1)) == pytest.approx(0.8, abs=0.02)
    assert chance_alike(0.05, 0.05 / 2.93 * 1.001, torch.eye(1)) == 0.0


def test_it_is_drawn_the_same_way_each_time():
    assert chance_alike(0.05, 0.015, torch.eye(5)) == 12_531 / 20_000  # by hand .9102525⁵ = 0.6249, ± 0.0034


def test_the_correlation_is_spearmans_within_classes():
    out = answers(60, classes=2)
    scorers = {"first": lambda o: o.z[:, 0] + 100.0 * o.labels, "second": lambda o: o.v1[:, 0]}
    by_class = []
    for k in (0, 1):
        own = out.labels == k
        by_class.append((int(own.sum()), spearmanr(out.z[own, 0], out.v1[own, 0]).statistic))
    pooled = sum(n * (n**2 - 1) / n**2 * rho for n, rho in by_class) / sum(n * (n**2 - 1) / n**2 for n, _ in by_class)
    found = rank_correlation(out, scorers)
    assert found[0, 1] == pytest.approx(pooled, abs=1e-9)
    assert found.diagonal().tolist() == [1.0, 1.0]


def test_a_constant_score_goes_with_none():
    found = rank_correlation(answers(30), {"flat": lambda o: torch.zeros(len(o)), "first": lambda o: o.z[:, 0]})
    assert torch.equal(found, torch.eye(2, dtype=torch.double))


def test_it_is_how_often_the_audit_calls_alike_what_is_alike():
    n, m, draws = 500, 700, 300
    often = 0
    for seed in range(draws):
        tests = population_tests(compare(answers(n, 2 * seed), answers(m, 2 * seed + 1)), 0.05)
        often += all(test.outcome == "alike" for test in tests)
    expected = chance_alike(0.05, null_se(n, m), rank_correlation(answers(2000), SCORERS))
    assert 0.3 < expected < 0.9
    assert often / draws == pytest.approx(expected, abs=3 * (expected * (1 - expected) / draws) ** 0.5)


def test_with_a_record_or_two_of_each_class_it_says_how_wary_the_audit_is():
    g, passed, errors = stream(0), 0, []
    few, many = torch.randint(400, (500,), generator=g), torch.arange(10_000) % 400
    for _ in range(200):
        scores = torch.randn(500, generator=g), torch.randn(10_000, generator=g)
        found = auc_interval(*scores, groups=(few, many))
        passed += tost(found, 0.05) < 0.05
        errors.append(found.se)
    expected = estimated_se(few, many)
    assert expected == pytest.approx(sum(errors) / 200, rel=0.05)
    assert expected > 1.2 * found.null_se
    assert chance_alike(0.05, found.null_se, torch.eye(1), expected) == pytest.approx(passed / 200, abs=0.06)
