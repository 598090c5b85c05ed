"""The first tier without a network: its size, its power, and what it can never do."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.audits.intervals import null_se
from sublimate.audits.population import SCORERS, on_clean
from sublimate.audits.tier1 import look_at_crowd
from sublimate.audits.verdict import decide
from sublimate.testing import evidence

NONE = torch.tensor([], dtype=torch.long)


def verdict(before, after, gone=NONE, seed=0, **how):
    found = look_at_crowd(before, after, gone, seed, **how)
    return decide(found.tests, found.gates)[0]


def verdicts(draw_crowd, runs, n, m, shift=0.0, **how):
    """Of an erased network whose forgotten records differ by `shift`; its original knew them well."""
    return Counter(
        verdict(draw_crowd(n, m, seed, shift=2.0, **how), draw_crowd(n, m, seed + runs, shift=shift, **how), seed=seed)
        for seed in range(runs)
    )


@pytest.mark.parametrize(("n", "levels"), [(200, None), (300, 2)])
def test_equal_crowds_seldom_fail(draw_crowd, n, levels):
    assert verdicts(draw_crowd, 60, n, n, levels=levels)["FAIL"] <= 4  # 7 %


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m", "how"),
    [
        (200, 200, {}),
        (200, 2000, {"levels": 2}),
        (2000, 2000, {}),
        (500, 500, {"levels": 1}),
        (300, 600, {"classes": 30}),
    ],
)
def test_false_alarms_in_500_equal_crowds(draw_crowd, n, m, how):
    assert verdicts(draw_crowd, 500, n, m, **how)["FAIL"] <= 35  # 7 %


def test_power(draw_crowd):
    assert verdicts(draw_crowd, 20, 200, 400, shift=2.0) == {"FAIL": 20}
    assert verdicts(draw_crowd, 20, 200, 400, shift=-2.0) == {"FAIL": 20}  # a scar
    assert verdicts(draw_crowd, 20, 1500, 2000)["PASS"] >= 17


@pytest.mark.slow
@pytest.mark.parametrize("levels", [None, 2])
def test_power_in_200_crowds(draw_crowd, levels):
    assert verdicts(draw_crowd, 200, 400, 800, shift=1.0, levels=levels)["FAIL"] >= 190  # 95 %
    assert verdicts(draw_crowd, 200, 1200, 1200, levels=levels)["PASS"] >= 160  # 80 %


@settings(deadline=None, max_examples=60)
@given(
    n=st.sampled_from([1, 5, 50]),
    m=st.sampled_from([1, 2, 60, 3000]),
    shift=st.sampled_from([0.0, 0.01, -0.01, 3.0]),
    was=st.sampled_from([0.0, 0.2, 4.0]),
    classes=st.integers(2, 5),
    levels=st.sampled_from([None, 1, 0.01]),
    seed=st.integers(0, 10_000),
)
def test_a_few_records_are_never_passed(draw_crowd, n, m, shift, was, classes, levels, seed):
    labels = [k % classes for k in range(max(n, m))]
    before, after = (
        draw_crowd(n, m, one, shift=by, classes=classes, levels=levels) for one, by in ((seed, was), (seed + 1, shift))
    )
    for out in (before, after):  # every class of the forgotten records among the never-seen ones, where possible
        out["forget"].labels[:] = torch.tensor(labels[:n]) % min(classes, m)
        out["control"].labels[:] = torch.tensor(labels[:m])
    found = look_at_crowd(before, after, NONE, seed)
    assert decide(found.tests, found.gates)[0] != "PASS"
    assert not next(gate for gate in found.gates if gate.name == "enough records").passed
    assert (found.detectable is None) == (n == 1 or m <= 2) or n == 5


def test_a_crowd_of_which_nothing_could_be_known_is_not_passed(draw_crowd):
    before, after = draw_crowd(2000, 2000), draw_crowd(2000, 2000, 7)
    assert verdict(before, before) == verdict(before, after) == "INCONCLUSIVE"


def test_a_ruined_network_is_not_passed(draw_crowd):
    before, after = draw_crowd(1500, 2000, shift=2.0), draw_crowd(1500, 2000, 7)
    assert verdict(before, after) == "PASS"
    constant = {
        name: type(out)(*(torch.zeros_like(z) for z in (out.z, out.v1, out.v2)), out.labels)
        for name, out in after.items()
    }
    for out in constant.values():
        out.z[:, 3] = 1.0
    assert verdict(before, constant) == "INCONCLUSIVE"


def test_records_of_a_class_without_control_are_not_passed_along(draw, draw_crowd):
    before, after = draw_crowd(1500, 2000, shift=2.0), draw_crowd(1500, 2000, 7)
    for out in (before, after):
        keep = out["control"].labels != 3
        out["control"] = out["never"] = out["control"].where(keep)
    assert verdict(before, after) == "INCONCLUSIVE"


def test_a_class_that_is_still_named_fails(draw_crowd):
    before, after = draw_crowd(1500, 2000, shift=2.0), draw_crowd(1500, 2000, 7)
    gone = torch.tensor([1])
    assert verdict(before, after, gone) == "FAIL"
    for name in ("forget", "control", "retain"):
        for z in (after[name].z, after[name].v1, after[name].v2):
            z[:, 1] -= 30.0  # class b is never named; both groups lose alike
    assert verdict(before, after, gone) == "PASS"


@pytest.mark.parametrize("make", [evidence.constant_scorer, evidence.random_scorer, evidence.reversed_scorer])
@pytest.mark.parametrize("seed", range(3))
def test_a_broken_score_passes_nothing(draw_crowd, make, seed):
    """Neither a network that knows the records still, nor one that does not: the score shows no difference."""
    before = draw_crowd(1500, 2000, seed, shift=2.0)
    for after in (before, draw_crowd(1500, 2000, seed + 7)):
        broken = {"broken": on_clean(make(None, None, seed))}
        assert verdict(before, after, seed=seed, scorers=broken) != "PASS"


def test_the_verdict_does_not_depend_on_the_sign_of_one_of_several_scores(draw_crowd):
    turned = {**SCORERS, "confidence": on_clean(evidence.reversed_scorer(None, None))}
    before = draw_crowd(1500, 2000, shift=2.0)
    for after in (before, draw_crowd(1500, 2000, 7)):
        assert verdict(before, after, scorers=turned) == verdict(before, after)


def test_tests_and_gates_of_a_crowd(draw_crowd):
    before, after = draw_crowd(300, 500, shift=2.0), draw_crowd(300, 500, 7)
    found = look_at_crowd(before, after, NONE)
    assert [gate.name for gate in found.gates] == [
        "fair attack", "fair control", "members seen", "still works", "something to erase", "enough records",
    ]  # fmt: skip
    assert [test.name.split(",")[0] for test in found.tests] == ["AUC"] * 5 + ["Classes apart"] * 5 + [
        "found at 1.0% false alarms", "found at 1.0% false alarms", "found at 0.1% false alarms",
        "found at 0.1% false alarms", "ε",
    ]  # fmt: skip
    assert found.delta == 0.05 and found.detectable == pytest.approx(3.4174 * null_se(300, 500), rel=0.1)  # α / 5
