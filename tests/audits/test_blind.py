"""What was not tested is read off the tests, not off the tier."""

from sublimate.audits.blind import ALWAYS, BESIDE, LOOKED, NATURE, RETURN, not_tested
from sublimate.audits.result import Test


def made(*names):
    return [Test(name=name, tier=2, n_forget=9, n_control=9, outcome="reported") for name in names]


def test_the_first_tier_looks_at_none_of_it():
    assert not_tested(made("AUC, loss"), 1, False, False) == [
        *(f"{w} (tier 2 looks)" for w in LOOKED), BESIDE, NATURE, ALWAYS,
    ]  # fmt: skip


def test_what_ran_is_not_named_and_what_did_not_is():
    ran = made("Unchanged weights", "Membership in the features", "Neighbourhood, views", "RMIA")
    assert not_tested(ran, 2, True, True) == [
        "knowledge that comes back after a few updates (it could not be looked at)", RETURN, ALWAYS,
    ]  # fmt: skip
    assert not_tested([*ran, *made("Relearning, 0 shown", "Return of the class")], 2, True, True) == [ALWAYS]
