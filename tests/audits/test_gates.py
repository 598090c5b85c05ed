"""Gates: each opens and closes where it should, and says why."""

import math

import pytest
import torch

from sublimate.audits.gates import (
    carried_out,
    clean_reference,
    enough_records,
    fair_attack,
    fair_control,
    members_seen,
    something_to_erase,
    still_works,
    tolerance,
)
from sublimate.audits.intervals import Interval, null_se
from sublimate.audits.outputs import Outputs
from sublimate.audits.population import Compared, compare
from sublimate.audits.result import Skipped
from sublimate.audits.statistics import detectable

NONE = torch.tensor([], dtype=torch.long)


def compared(**values):
    found = {name: Interval(v, v - 0.1, v + 0.1, 0.05, 9, 9, 0.05, 99.0) for name, (v, _) in values.items()}
    return Compared(found, {name: p for name, (_, p) in values.items()})


def right(k, n, label=0):
    """k of n records of a class are called right."""
    z = torch.zeros(n, 3)
    z[:, (label + 1) % 3] = 1.0
    z[:k, label] = 2.0
    return Outputs(z, z, z, torch.full((n,), label))


def both(*outs):
    return Outputs(*(torch.cat([getattr(o, name) for o in outs]) for name in ("z", "v1", "v2", "labels")))


def test_equal_halves_are_fair_whatever_the_score(draw):
    assert fair_attack(draw(400), 0).passed
    for broken in (lambda out: torch.zeros(len(out)), lambda out: -out.z[:, 0], lambda out: torch.rand(len(out))):
        assert fair_attack(draw(400), 0, {"broken": broken}).passed


def test_a_score_that_tells_the_halves_apart_is_not_fair(draw):
    seen = []  # a score that knows which group it is shown

    def cheating(out):
        seen.append(len(out))
        return torch.arange(len(out)) + (1000.0 if len(seen) % 2 else 0.0)

    gate = fair_attack(draw(100), 0, {"cheating": cheating})
    assert not gate.passed and gate.says.startswith("The attack is not fair: by cheating")


@pytest.mark.parametrize("labels", [[0], [0, 1, 2]])
def test_without_two_of_a_class_fairness_cannot_be_checked(draw, labels):
    gate = fair_attack(draw(0, labels=labels), 0)
    assert not gate.passed and "cannot be checked" in gate.says
    assert fair_attack(draw(0, labels=[*labels, 0]), 0).passed


def test_every_forgotten_class_needs_never_seen_records(draw):
    control = draw(0, labels=[0, 1])
    assert fair_control(draw(0, labels=[0, 1, 1]), control).passed
    gate = fair_control(draw(0, labels=[0, 2, 2]), control)
    assert not gate.passed and gate.says.startswith("Of 2 of 3 forgotten records nothing can be said")


def test_something_to_erase_needs_a_score_above_one_half():
    gate = something_to_erase(compared(a=(0.7, 0.01), b=(0.9, 0.01), c=(0.99, 0.2)))
    assert gate.passed and "AUC 0.900 by b" in gate.says
    assert not something_to_erase(compared(a=(0.7, 0.05))).passed
    gate = something_to_erase(compared(a=(0.2, 0.001), b=(0.6, 0.4)))
    assert not gate.passed and "wrong sign" in gate.says


def test_tolerance_is_half_of_the_excess_and_at_most_a_twentieth():
    assert tolerance(compared(a=(0.56, 0.0), b=(0.3, 0.0))) == pytest.approx(0.03)
    assert tolerance(compared(a=(0.9, 0.0))) == 0.05
    assert tolerance(compared(a=(0.5, 1.0))) is None and tolerance(compared(a=(0.4, 0.0))) is None


@pytest.mark.parametrize(("k", "passed"), [(64, True), (63, False), (100, True), (0, False)])
def test_a_network_must_keep_four_fifths_of_its_accuracy(k, passed):
    before, after = ({"never": right(hits, 100)} for hits in (80, k))
    gate = still_works(before, after, NONE)
    assert gate.passed is passed and f"{k:.1f} %, 80.0 % before" in gate.says


def test_forgotten_classes_do_not_count_for_still_works():
    before = {"never": both(right(10, 10), right(10, 10, 1))}
    after = {"never": both(right(10, 10), right(0, 10, 1))}
    assert "100.0 %, 100.0 % before" in still_works(before, after, torch.tensor([1])).says
    # Without never-seen records of the classes that stay, retained ones are asked.
    before, after = ({"never": right(k, 10, 1), "retain": right(k, 10)} for k in (10, 4))
    gate = still_works(before, after, torch.tensor([1]))
    assert not gate.passed and "40.0 %, 100.0 % before" in gate.says


def test_enough_records_at_2_93_standard_errors():
    assert enough_records(0.0294, 0.01).passed and not enough_records(0.0292, 0.01).passed
    assert "no leak smaller than |AUC − .5| = 0.028 is found" in enough_records(0.01, 0.01, scores=1).says
    assert "no leak smaller than |AUC − .5| = 0.034 is found" in enough_records(0.01, 0.01).says  # five scores
    assert "no leak at all is found" in enough_records(0.01, 0.3).says


@pytest.mark.parametrize(("n", "least"), [(5, 0.36), (10, 0.26), (50, 0.12), (100, 0.085), (250, 0.057), (500, 0.044)])
def test_the_smallest_leak_beside_a_thousand_never_seen_records(n, least):
    # (1.96 + .8416) standard errors of alike groups.
    assert detectable(null_se(n, 1000)) == pytest.approx(2.8016 * math.sqrt((n + 1001) / (12_000 * n)), rel=1e-4)
    assert detectable(null_se(n, 1000)) == pytest.approx(least, rel=0.03)
    assert detectable(null_se(1, 1000)) is None


def test_a_reference_that_tells_is_refused(draw):
    clean = {"forget": draw(300, 0), "control": draw(300, 1), "retain": draw(50, 2)}
    assert clean_reference(compare(clean["forget"], clean["control"]), clean, NONE).passed
    saw = clean | {"forget": draw(300, 0, shift=1.0)}
    gate = clean_reference(compare(saw["forget"], saw["control"]), saw, NONE)
    assert not gate.passed and gate.says.startswith("The reference is not clean")


def test_a_reference_that_knows_the_records_less_is_a_yardstick(draw):
    out = {"forget": draw(300, 0, shift=-1.0), "control": draw(300, 1), "retain": draw(50, 2)}
    gate = clean_reference(compare(out["forget"], out["control"]), out, NONE)
    assert gate.passed and "of another kind: by confidence its AUC is 0.1" in gate.says
    # Surer of some class, but less sure of the label: that is not to know the record.
    mixed = compared(confidence=(0.2, 0.001), entropy=(0.8, 0.001))
    assert clean_reference(mixed, out, NONE).passed
    assert not clean_reference(compared(confidence=(0.5, 1.0), entropy=(0.8, 0.001)), out, NONE).passed


def test_a_reference_of_unknown_training_is_marked(draw):
    out = {"forget": draw(300, 0), "control": draw(300, 1), "retain": draw(50, 2)}
    found = compare(out["forget"], out["control"])
    assert "Unverified" in clean_reference(found, out, NONE, verified=False).says
    assert "Unverified" not in clean_reference(found, out, NONE).says


def test_attacks_that_could_not_be_carried_out_close_a_gate():
    assert carried_out([]).passed
    gate = carried_out([Skipped(what="relearned", why="No weights.")])
    assert not gate.passed and gate.says == "Not all attacks could be carried out. Relearned: No weights."


def test_a_reference_that_is_right_about_the_forgotten_records_belongs_to_another_split():
    out = {"forget": right(99, 100), "control": right(70, 100), "retain": right(99, 100)}
    # No score tells, but what it calls right does: 29 points of 100 against 100.
    gate = clean_reference(compared(a=(0.5, 1.0)), out, NONE)
    assert not gate.passed
    assert (
        "99.0 % of the forgotten records right, 70.0 % of the never-seen ones and 99.0 % of the retained" in gate.says
    )
    assert clean_reference(compared(a=(0.5, 1.0)), out | {"forget": right(75, 100)}, NONE).passed
    assert clean_reference(compared(a=(0.5, 1.0)), out | {"forget": right(40, 100)}, NONE).passed  # no better, no alarm


def test_members_must_be_seen(draw):
    never = draw(400, 1)
    assert members_seen(draw(400, 0, shift=1.0), never).passed
    for shift in (0.0, -1.0):  # as well known as never-seen ones, or less
        gate = members_seen(draw(400, 0, shift=shift), never)
        assert not gate.passed and "were trained on" in gate.says
    strangers = draw(0, 2, labels=[0, 0]), draw(0, 3, labels=[1, 1])
    assert not members_seen(*strangers).passed


def test_a_reference_that_names_a_class_that_is_gone_is_not_clean():
    """It knows forgotten and control records of the class alike: no comparison of the two tells."""
    knows = {"forget": right(40, 50), "control": right(80, 100), "retain": right(50, 50, 1)}
    alike = compared(confidence=(0.5, 1.0))
    assert clean_reference(alike, knows, NONE).passed
    gate = clean_reference(alike, knows, torch.tensor([0]))
    assert not gate.passed and "still called by a forgotten class" in gate.says
    never = knows | {"forget": right(0, 50), "control": right(0, 100)}
    assert clean_reference(alike, never, torch.tensor([0])).passed
