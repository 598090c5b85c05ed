"""Canaries in an audit: twins are the control, a coin is the yardstick."""

from dataclasses import replace
from math import log

import pytest
import torch

from sublimate.audits.auditing import audit, images_at_tier_1
from sublimate.audits.planted import coin_test, pair_tests, set_apart
from sublimate.canaries import canary_parts, plant
from sublimate.errors import InputRefused
from sublimate.splits import split
from sublimate.testing.toy import toy_data


@pytest.fixture(scope="module")
def planted(learn):
    """Toy data with 100 canaries in and 100 out: a network that learned them by heart, and one that never saw them."""
    data, canaries = plant(toy_data(), 200, seed=0)
    natural = data.train[:240]
    return data, canaries.ids, learn(data, data.train, 0, steps=200), learn(data, natural, 1, steps=200)


def ids(*names):
    return "id:" + ",".join(names)


def test_coins_by_hand():
    higher = torch.tensor([1.0] * 9 + [0.0])
    test = coin_test(higher, 1 - higher, was=10)
    # 9 of 10 or more, on either side: 2 · 11 / 1024.  At 99 % the share is .4557 at least: no difference is shown.
    assert (test.value, test.p_different) == (0.9, pytest.approx(22 / 1024)) and test.outcome == "reported"
    assert test.detail["ε"] == 0.0 and "in 9 of 10 pairs, 10 before" in test.detail["says"]


@pytest.mark.parametrize("scar", [False, True])
def test_all_of_twenty_pairs_are_a_difference_in_either_direction(scar):
    ones, noughts = torch.ones(20), torch.zeros(20)
    test = coin_test(noughts, ones, 20) if scar else coin_test(ones, noughts, 20)
    low = 0.005 ** (1 / 20)  # right at least so often, at 99 %
    assert test.outcome == "different" and test.value == (0.0 if scar else 1.0)
    assert test.p_different == pytest.approx(2 / 2**20) and test.detail["ε"] == round(log(low / (1 - low)), 4)


def test_ties_say_nothing():
    test = coin_test(torch.zeros(50), torch.zeros(50), 0)
    assert (test.value, test.p_different, test.outcome, test.detail["ε"]) == (0.5, 1.0, "reported", 0.0)
    test = coin_test(torch.tensor([1.0] * 20 + [0.0] * 30), torch.zeros(50), 0)
    assert test.value == 1.0 and test.outcome == "different"


def test_a_coin_is_called_crooked_in_one_of_a_hundred_audits():
    g = torch.Generator().manual_seed(0)
    alarms = sum(
        coin_test(torch.rand(40, generator=g), torch.rand(40, generator=g), 0).outcome == "different"
        for _ in range(1000)
    )
    assert 1 <= alarms <= 15


def test_a_request_without_canaries_stays_as_it_is(planted):
    s = split(planted[0], "class:b@50%", seed=3)
    natural = split(toy_data(), "class:b")
    for one in (s, natural):
        rows = one.forget[one.forget < 240]
        assert set_apart(replace(one, forget=rows), 0).pairs is None


def test_canaries_are_taken_out_of_a_mixed_request(planted):
    data, names = planted[:2]
    s = split(data, ids("0", "4", *names[:3]))
    found = set_apart(s, 0)
    assert found.split.forget.tolist() == [0, 4] and found.split.data is data
    inside, twins = canary_parts(data, 200, 0)
    assert torch.equal(found.pairs[0].rows, inside.rows[:3]) and torch.equal(found.pairs[1].rows, twins.rows[:3])


def test_a_request_for_canaries_alone_is_judged_beside_their_twins(planted):
    data, names = planted[:2]
    s = split(data, ids(*names[5:9]))
    found = set_apart(s, 0)
    twins = canary_parts(data, 200, 0)[1]
    table, control = found.split.data, found.split.control
    assert torch.equal(table.read(control)[0], twins.data.read(twins.rows[5:9])[0])
    assert torch.equal(table.labels[control], data.labels[s.forget])  # twins share their label
    some = torch.tensor([0, int(control[1]), 339, 340, int(control[0])])  # rows keep their numbers
    for row, x in zip(some, table.read(some)[0], strict=True):
        assert torch.equal(x, table.read(row[None])[0][0])
    assert torch.equal(table.read(torch.arange(460))[0], data.read(torch.arange(460))[0])


def test_twins_of_another_seed_are_refused_or_skipped(planted):
    data, names = planted[:2]
    with pytest.raises(InputRefused, match="with seed 1") as refusal:
        set_apart(split(data, ids(*names)), 1)
    assert refusal.value.remedy.startswith("Give the seed of the training")
    found = set_apart(split(data, ids("0", *names)), 1)
    assert found.pairs is None and found.split.forget.tolist() == [0]
    assert "cannot be made again with seed 1" in found.gates[0].says


def test_canaries_that_are_known_fail_and_canaries_that_are_not_do_not(planted):
    data, names, original, retrained = planted
    s = split(data, ids(*names))
    known, gone = (audit(model, original=original, split=s) for model in (original, retrained))
    assert known.verdict == "FAIL" and gone.verdict == "INCONCLUSIVE"  # a hundred are too few to show equality
    tests = {test.name: test for test in known.tests}
    assert tests["Canaries, pairs"].outcome == "different" and tests["Canaries, pairs"].detail["ε"] > 1
    assert tests["Canaries, AUC"].value > 0.9 and tests["AUC, confidence"].n_control == 100
    assert known.n == {"forget": 100, "control": 100, "retain": 240, "never": 96}
    assert known.compute.images == 6 * (100 + 100 + 240 + 96) + 400
    assert images_at_tier_1(s) == 6 * (100 + 100 + 240 + 96)


def test_the_second_tier_takes_the_twins_for_control(planted):
    data, names, original, retrained = planted
    s = split(data, ids(*names))
    known, gone = (audit(m, original=original, split=s, reference=retrained, tier=2) for m in (original, retrained))
    assert known.verdict == "FAIL" and gone.verdict == "INCONCLUSIVE"
    beside = {t.name: t.n_control for t in known.tests if t.name in ("Relearning, 0 shown", "RMIA")}
    assert beside == {"Relearning, 0 shown": 100, "RMIA": 75}  # a quarter is set aside as its population
    assert all(gate.passed for gate in known.gates if gate.name == "clean reference")


def test_a_mixed_request_fails_by_its_canaries(planted):
    data, names, original, retrained = planted
    s = split(data, ids(*map(str, range(0, 240, 4)), *names))
    found = audit(original, original=original, split=s)
    assert found.verdict == "FAIL" and any(reason.startswith("Canaries, pairs: ") for reason in found.reasons)
    assert found.n["forget"] == 60 and found.n["control"] == 96
    both = pair_tests(retrained, original, set_apart(s, 0).pairs)
    assert [test.outcome for test in both] == ["reported", "reported"]


def test_records_that_merely_sound_like_canaries_are_judged_like_others():
    data = toy_data()
    islands = replace(data, ids=tuple(f"canary-islands/{name}" for name in data.ids))
    chosen = split(islands, "random@50%")
    apart = set_apart(chosen, 0)
    assert apart.split is chosen and apart.gates == ()


def test_canaries_that_cannot_be_judged_are_no_pass(planted):
    data, names, _, clean = planted
    asked = split(data, ids(*names, *data.ids[:100]))
    apart = set_apart(asked, 1)  # another seed than that of the training
    assert len(apart.split.forget) == 100
    (gate,) = apart.gates
    assert not gate.passed and "100 of the forgotten records are canaries" in gate.says
    found = audit(clean, original=clean, split=asked, seed=1)
    assert found.verdict != "PASS" and any(gate.name == "canaries judged" for gate in found.gates)
