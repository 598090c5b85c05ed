"""What is said of a network: by hand, against slow references, and against the functions that say the same."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.audits.auditing import audit
from sublimate.audits.evaluation import evaluate
from sublimate.bench import analysis, curves, dispersion, steps
from sublimate.bench.assembling import gaps
from sublimate.bench.packing import asked_of, opened, table
from sublimate.errors import Interrupted
from sublimate.inference import confidence, predict
from sublimate.plan import Step, result, run
from sublimate.splits import Part

TRAIN = {"model": "small-cnn", "recipe": "fast", "epochs": 3, "views": "simple", "seed": 0}


@pytest.fixture
def on(toy_file):
    return {"data": str(toy_file), "request": "class:b", "seed": 0}


def trained(on, without=False, seed=0):
    parameters = TRAIN | {"on": on, "without": without, "seed": seed}
    return Step(name="retrain" if without else "original", function=steps.train, parameters=parameters)


def done(store, function, needs, **parameters):
    step = Step(name="last", function=function, parameters=parameters, needs=tuple(needs))
    ran = run([step], store)
    assert not ran.failed, ran.failed
    return json.loads(result(step, store))


def network(step, store, on):
    return opened(result(step, store), table(on["data"])).model


# --- divergence and spread -------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 10**6))
def test_the_closed_form_is_the_mean_over_ordered_pairs(n, k, seed):
    z = 4 * torch.randn(2, n, k, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    p = z.softmax(2)
    for record in range(2):
        pairs = [
            sum(float(a * math.log(a / b)) for a, b in zip(p[record, i], p[record, j], strict=True))
            for i in range(n)
            for j in range(n)
        ]
        assert float(dispersion.pairwise_kl(z)[record]) == pytest.approx(sum(pairs) / n**2, abs=1e-9)


def test_divergence_of_two_views_by_hand():
    # p = (1/2, 1/2), q = (3/4, 1/4): KL(p‖q) = ½ ln(2/3) + ½ ln 2 = ½ ln(4/3), KL(q‖p) = ¾ ln(3/2) + ¼ ln(1/2);
    # the pairs (p, p) and (q, q) add nothing, and there are four pairs.
    z = torch.tensor([[[0.5, 0.5], [0.75, 0.25]]]).log()
    expected = (0.5 * math.log(4 / 3) + 0.75 * math.log(1.5) + 0.25 * math.log(0.5)) / 4
    assert dispersion.pairwise_kl(z).item() == pytest.approx(expected, abs=1e-7)


def test_confident_answers_give_no_nan():
    z = torch.tensor([[[1000.0, 0.0], [1000.0, 0.0]]])
    assert dispersion.pairwise_kl(z).item() == 0.0


def test_spread_by_hand():
    # Views (0, 0), (2, 0), (4, 3): mean (2, 1), squared distances 5, 1, 8.
    assert dispersion.spread(torch.tensor([[[0.0, 0.0], [2.0, 0.0], [4.0, 3.0]]])).item() == pytest.approx(14 / 3)


def test_views_are_those_of_the_seed(on, store):
    options = {"on": on, "few": 60, "views": "simple", "points": 5, "number": 4}
    one, again, other = (
        done(store, dispersion.divergence, [trained(on)], seed=seed, **options)["figures"] for seed in (1, 1, 2)
    )
    assert one == again != other
    assert set(one) == {"kl_dr", "kl_df", "spread_dr", "spread_df"}
    still = done(store, dispersion.divergence, [trained(on)], seed=1, **options | {"views": "none"})["figures"]
    assert set(still.values()) == {0.0}


def test_a_map_holds_every_view_and_is_the_same_again(on, store, tmp_path):
    options = {"on": on, "few": 60, "views": "simple", "points": 3, "number": 5, "seed": 1}
    found = done(store, dispersion.embedded, [trained(on)], **options)["points"]
    marks = [(group, record) for _, _, group, record in found]
    assert marks == [(g, r) for g in (0, 1) for r in range(3) for _ in range(5)]
    assert all(value == round(value, 2) for x, y, *_ in found for value in (x, y))
    assert done(type(store)(tmp_path / "other"), dispersion.embedded, [trained(on)], **options)["points"] == found


# --- figures ---------------------------------------------------------------------------------------------------------


def test_accuracy_by_class_by_hand():
    z = torch.tensor([[2.0, 1, 0], [0, 1, 2], [0, 2, 1], [0, 2, 1], [2, 1, 0]])
    y = torch.tensor([0, 0, 1, 1, 1])
    assert analysis.by_class(z, y, ("a", "b", "c")) == {"a": 50.0, "b": 66.67}  # c has no record


def test_confusion_by_hand():
    said = torch.tensor([1, 1, 0, 2])  # of four records of class 0, and one of class 1 which does not count
    z = torch.nn.functional.one_hot(torch.cat([said, torch.tensor([1])]), 3).float()
    y = torch.tensor([0, 0, 0, 0, 1])
    found = analysis.confusion(z, y, torch.tensor([0]), ("a", "b", "c"))
    assert found == {"a": {"b": 50.0, "a": 25.0, "c": 25.0}}
    assert analysis.confusion(z, y, None, ("a", "b", "c")) == {}


def test_look_says_what_evaluate_says_and_more(on, store):
    looked = done(store, analysis.look, [trained(on)], on=on, few=60)
    asked = asked_of(on, table(on["data"]))
    scored = asdict(evaluate(network(trained(on), store, on), asked))
    assert looked["split"] == asked.fingerprint
    assert {name: looked["figures"][name] for name in scored} == analysis.rounded(scored)
    model = network(trained(on), store, on)
    control = Part(asked.data, asked.control, "control")
    mine, others = (
        confidence(predict(model, part), part.labels).tolist()
        for part in (asked.forget_set, control.where(control.labels == 1))
    )
    wins = sum((a > b) + (a == b) / 2 for a in mine for b in others)  # all of class b, so one comparison
    assert looked["figures"]["auc"] == pytest.approx(wins / (len(mine) * len(others)), abs=1e-6)
    # 60 of 240 records are of class b; a fifth of 120 test records is val.
    assert looked["n"] == {"forget": 60, "retain": 180, "few": 60, "control": 96, "test": 120}
    assert set(looked["classes"]) == set("abcd")
    assert list(looked["confusion"]) == ["b"]


def test_the_distance_to_retrain(on, store):
    needs = [trained(on), trained(on, without=True)]
    both = {"network": "original", "reference": "retrain"}
    found = done(store, analysis.beside, needs, on=on, **both)["js"]
    assert 0 < found <= math.log(2)
    swapped = done(store, analysis.beside, needs, on=on, network="retrain", reference="original")["js"]
    assert swapped == found
    same = done(store, analysis.beside, needs[:1], on=on, network="original", reference="original")["js"]
    assert same == 0.0


def test_the_verdict_is_the_audits(on, store):
    needs = [trained(on), trained(on, without=True)]
    options = {"network": "retrain", "original": "original", "sample": 50, "seed": 3}
    found = done(store, analysis.audited, needs, on=on, **options)
    asked = asked_of(on, table(on["data"]))
    before, after = (network(step, store, on) for step in needs)
    expected = audit(after, original=before, split=asked, tier=1, sample=50, seed=3)
    assert (found["verdict"], found["reasons"], found["tier"]) == (expected.verdict, expected.reasons, 1)
    main = next(test for test in expected.tests if test.name == "AUC, confidence")
    assert found["auc"] == round(main.value, 6)


def test_both_tiers_are_the_audits_with_the_reference(on, store):
    needs = [trained(on), trained(on, without=True)]
    roles = {"network": "original", "original": "original", "reference": "retrain"}
    found = done(store, analysis.examined, needs, on=on, sample=50, seed=3, **roles)
    before, beside = (network(step, store, on) for step in needs)
    asked = asked_of(on, table(on["data"]))
    for tier, told in enumerate(found, start=1):
        expected = audit(before, original=before, split=asked, tier=tier, sample=50, seed=3, reference=beside)
        assert (told["tier"], told["verdict"], told["reasons"]) == (tier, expected.verdict, expected.reasons)
        assert told["telling"] == [test.name for test in expected.tests if test.outcome == "different"]


def test_gaps_by_hand():
    own = {"acc_dr": 98.0, "acc_df": 4.0, "ta_dr": 90.0, "ta_df": 1.0, "ta": 70.0, "mia": 10.0}
    retrain = {"acc_dr": 100.0, "acc_df": 0.0, "ta_dr": 93.0, "ta_df": 0.0, "ta": 72.0, "mia": 20.0}
    found = gaps(own, retrain)
    assert found["gap"] == {"acc_dr": -2.0, "acc_df": 4.0, "ta_dr": -3.0, "ta_df": 1.0, "ta": -2.0, "mia": -10.0}
    assert found["average_gap"] == (2 + 4 + 3 + 1 + 10) / 5  # where classes are named, ta_dr and ta_df stand for ta
    assert found["tow"] == pytest.approx(0.96 * 0.98 * 0.98)
    pooled = gaps(own | {"ta_dr": None, "ta_df": None}, retrain | {"ta_dr": None, "ta_df": None})
    assert pooled["average_gap"] == (2 + 4 + 2 + 10) / 4


# --- curves ----------------------------------------------------------------------------------------------------------

RUN = {"method": "siamese", "preset": "paper", "options": {"epochs": 3, "batch_size": 30, "lr": 1e-2}, "few": 60}


def test_a_curve_begins_at_the_original_and_ends_at_the_result(on, store):
    found = done(store, curves.curve, [trained(on)], on=on, sample=100, **RUN)
    assert [point["epoch"] for point in found["points"]] == [0.0, 1.0, 2.0, 3.0]
    asked = asked_of(on, table(on["data"]))
    erased = Step(name="erased", function=steps.unlearn, parameters=RUN | {"on": on}, needs=(trained(on),))
    run([erased], store)
    ends = [evaluate(network(step, store, on), asked, sample=100) for step in (trained(on), erased)]
    for point, end in zip((found["points"][0], found["points"][-1]), ends, strict=True):
        assert point["figures"]["acc_df"] == round(end.acc_df, 6)
        assert point["figures"]["ta"] == round(end.ta, 6)
    first = done(store, curves.sampled, [trained(on)], on=on, few=60, sample=100)
    assert first["figures"] == found["points"][0]["figures"]


@pytest.mark.parametrize("stop", [1, 4])
def test_a_curve_that_was_stopped_is_the_same_curve(stop, on, store, tmp_path):
    step = Step(name="curve", function=curves.curve, parameters=RUN | {"on": on, "sample": 50}, needs=(trained(on),))
    run([trained(on)], store)
    asked = [0]

    def interrupted():
        asked[0] += 1
        return asked[0] == stop + 1  # the plan itself asks once

    with pytest.raises(Interrupted):
        run([step], store, interrupted=interrupted)
    run([step], store)
    other = type(store)(tmp_path / "other")
    run([step], other)
    assert result(step, store) == result(step, other)


def test_a_curve_that_fails_says_so_and_keeps_what_it_saw(on, store):
    options = {"method": "neggrad", "preset": "paper", "options": {"lr": 1e30, "epochs": 2}, "few": 60}
    found = done(store, curves.curve, [trained(on)], on=on, sample=50, **options)
    assert "non-finite" in found["run"]["failed"]
    assert found["run"]["options"]["lr"] == 1e30
    assert found["points"][0]["epoch"] == 0.0


def test_a_network_that_answers_no_numbers_is_shown_as_it_is(toy):
    class Mute(torch.nn.Module):
        def forward(self, x):
            return torch.full((len(x), 4), float("nan")).index_fill(1, torch.tensor([2]), float("inf"))

    z, _ = analysis.outputs(Mute(), toy.split)
    assert torch.isfinite(z["forget"]).all()
    assert (z["forget"].argmax(1) == 2).all()
