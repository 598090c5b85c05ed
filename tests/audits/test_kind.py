"""Records that are odd by nature: no verdict on them by tests that compare them with others."""

import pytest
import torch

from sublimate.audits.auditing import audit
from sublimate.audits.intervals import Interval
from sublimate.audits.kind import apart_from_nature, odd_scores
from sublimate.audits.population import Compared
from sublimate.audits.result import Test
from sublimate.data.core import Data
from sublimate.splits import split
from sublimate.testing.toy import quadrants


def compared(**values):
    found = {name: Interval(v, v - 0.02, v + 0.02, 0.01, 9, 9, 0.01, 99.0) for name, (v, _) in values.items()}
    return Compared(found, {name: p for name, (_, p) in values.items()})


def made(name, value, outcome="different", high=None, **detail):
    return Test(name=name, tier=1, value=value, high=high, n_forget=9, n_control=9, outcome=outcome, detail=detail)


KNOWN, ODD = compared(loss=(0.9, 0.0)), compared(loss=(0.3, 0.001))


def test_references_are_asked_before_the_original():
    assert odd_scores(KNOWN, []) == [] and odd_scores(ODD, []) == ["loss"]
    assert odd_scores(ODD, [compared(loss=(0.5, 1.0))]) == [] and odd_scores(KNOWN, [ODD]) == ["loss"]
    assert odd_scores(compared(loss=(0.3, 0.02)), []) == []  # not sure enough


def test_scars_of_odd_records_are_unresolved_and_traces_stay():
    tests = [
        made("AUC, loss", 0.3), made("AUC, margin", 0.6), made("AUC, entropy", 0.6), made("ε, lower bound", 1.0,
        direction="below"), made("ε, lower bound", 1.0, direction="above"), made("Classes apart, loss", 0.2),
        made("Unchanged weights", 1.0), made("AUC, confidence", 0.5, "alike"), made("RMIA", 0.3), made("RMIA", 0.7),
    ]  # fmt: skip
    found, (gate,) = apart_from_nature(tests, ODD, [], 0.05)
    assert [test.outcome for test in found] == [
        "unresolved", "different", "unresolved", "unresolved", "different", "unresolved", "different", "alike",
        "unresolved", "different",
    ]  # fmt: skip
    assert not gate.passed and "by nature: already the original shows" in gate.says
    assert apart_from_nature(tests, KNOWN, [], 0.05) == (tests, [])


@pytest.mark.parametrize(("original", "references"), [(ODD, []), (KNOWN, [ODD])])
def test_likeness_of_odd_records_shows_nothing_either(original, references):
    tests = [made("AUC, loss", 0.5, "alike"), made("Unchanged weights", 0.0, "reported")]
    found, (gate,) = apart_from_nature(tests, original, references, 0.05)
    assert found == tests and not gate.passed


def test_a_scar_far_below_the_references_is_one():
    for high, outcome in ((0.26, "unresolved"), (0.24, "different")):
        (found,), gates = apart_from_nature([made("AUC, loss", 0.2, high=high)], KNOWN, [ODD], 0.05)
        assert found.outcome == outcome and not gates[0].passed


@pytest.fixture(scope="module")
def mislabelled(learn):
    """Two in ten labels are wrong; the request names 200 such records of 1400."""
    (x, y), (u, v) = quadrants(1400, 0), quadrants(1000, 1)
    g, labels = torch.Generator().manual_seed(2), torch.cat([y, v])
    wrong = torch.rand(len(labels), generator=g) < 0.2
    labels[wrong] = (labels[wrong] + torch.randint(1, 4, (int(wrong.sum()),), generator=g)) % 4
    data = Data(
        name="wrong", images=torch.cat([x, u]), labels=labels, sizes=(1400, 1000, 0), classes=tuple("abcd"),
        mean=(0.35,), std=(0.25,), flip=False,
    )  # fmt: skip
    s = split(data, "id:" + ",".join(map(str, wrong[:1400].nonzero().flatten()[:200].tolist())))
    return s, learn(data, data.train, 0), [learn(data, s.retain, seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize(("tier", "beside"), [(1, 1), (2, 2)])
def test_a_true_retrain_of_mislabelled_records_is_not_called_scarred(mislabelled, tier, beside):
    s, original, (mine, *others) = mislabelled
    found = audit(mine, original=original, split=s, tier=tier, reference=others[:beside])
    assert found.verdict == "INCONCLUSIVE" and any("by nature" in reason for reason in found.reasons)
    assert sum(test.outcome == "different" for test in found.tests) == 0


def test_an_original_that_knows_them_less_says_it_without_references(mislabelled, learn):
    s, _, (mine, *_) = mislabelled
    found = audit(mine, original=learn(s.data, s.data.train, 0, steps=60), split=s)
    assert found.verdict == "INCONCLUSIVE" and any("already the original shows" in reason for reason in found.reasons)


def test_what_was_not_erased_fails_all_the_same(mislabelled):
    s, original, retrained = mislabelled
    found = audit(original, original=original, split=s, tier=2, reference=retrained[:2])
    assert found.verdict == "FAIL"


@pytest.fixture(scope="module")
def odder(learn):
    """Three in ten labels are drawn anew; four in ten of those in the request are wrong."""
    (x, y), (u, v) = quadrants(2400, 0), quadrants(2400, 1)
    g, true = torch.Generator().manual_seed(2), torch.cat([y, v])
    drawn = torch.rand(len(true), generator=g) < 0.3
    labels = torch.where(drawn, torch.randint(4, true.shape, generator=g), true)
    data = Data(
        name="odder", images=torch.cat([x, u]), labels=labels, sizes=(2400, 2400, 0), classes=tuple("abcd"),
        mean=(0.35,), std=(0.25,), flip=False,
    )  # fmt: skip
    wrong = (labels != true)[:2400]
    rows = torch.cat([wrong.nonzero().flatten()[:400], (~wrong).nonzero().flatten()[:600]])
    s = split(data, "id:" + ",".join(map(str, rows.tolist())))
    return s, learn(data, data.train, 0), [(learn(data, s.retain, seed), s.fingerprint) for seed in (1, 2)]


@pytest.mark.parametrize("share", [0.28, 0.35])
def test_who_keeps_a_third_of_odd_records_does_not_pass_for_looking_never_seen(odder, learn, share):
    s, original, references = odder
    mixed = s.forget[torch.randperm(len(s.forget), generator=torch.Generator().manual_seed(1))]
    kept = learn(s.data, torch.cat([s.retain, mixed[: int(share * len(mixed))]]), 11)
    alone = audit(kept, original=original, split=s)
    assert any("by nature" in what for what in alone.not_tested)
    for tier in (1, 2):
        found = audit(kept, original=original, split=s, tier=tier, reference=references)
        main = [test.outcome for test in found.tests if test.name.startswith("AUC, ")]
        assert found.verdict != "PASS" and "different" not in main  # to the eye it is like never-seen ones
