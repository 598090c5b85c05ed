"""Curves: shares that add up, and points that are those of the tests."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.audits.curves import BINS, RATES, curves, roc
from sublimate.audits.outputs import Outputs
from sublimate.audits.proportions import tpr_at_fpr
from sublimate.audits.tails import tail_tests


@settings(deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 40), m=st.integers(1, 60), levels=st.sampled_from([3, 1000]))
def test_each_point_is_the_share_found_at_so_many_false_alarms(seed, n, m, levels):
    g = torch.Generator().manual_seed(seed)
    f, c = (torch.randint(levels, (size,), generator=g).double() for size in (n, m))
    rates = torch.tensor([0.0, 0.001, 0.01, 0.29, 0.5, 0.99], dtype=torch.double)
    assert roc(f, c, rates).tolist() == pytest.approx([tpr_at_fpr(f, c, float(r)).tpr.value for r in rates])
    assert roc(f, c, torch.tensor([1.0])).item() == 1.0


def test_the_curve_goes_through_the_figures_of_the_tests(draw_crowd):
    before, after = draw_crowd(300, 1000, shift=2.0), draw_crowd(300, 1000, 5)
    found = curves(before, after)
    assert found["false alarms"][0] == 0.001 and found["false alarms"][20] == 0.01 and len(RATES) == 61
    for when, out in (("before", before), ("after", after)):
        tests = {test.name: test.value for test in tail_tests(out["forget"], out["control"], 0)}
        assert found["found"][when][0] == pytest.approx(tests["found at 0.1% false alarms, above"], abs=1e-5)
        assert found["found"][when][20] == pytest.approx(tests["found at 1.0% false alarms, above"], abs=1e-5)
        assert found["found"][when][-1] == 1.0


def test_shares_add_up_and_only_classes_of_the_forgotten_records_are_drawn(draw, draw_crowd):
    out = draw_crowd(200, 300)
    out["forget"] = draw(200, labels=[0] * 200)
    found = curves(out, out)
    assert len(found["edges"]) == BINS + 1 and set(found["shares"]) == {
        "forgotten before", "never seen before", "forgotten after", "never seen after",
    }  # fmt: skip
    for shares in found["shares"].values():
        assert len(shares) == BINS and sum(shares) == pytest.approx(1.0, abs=1e-3)
    widest = out["control"].z[:, 0].max() + 100
    out["control"].z[out["control"].labels != 0, 0] = widest  # other classes do not move the edges
    assert curves(out, out)["edges"] == found["edges"]


def test_a_network_that_says_one_thing_and_a_single_record_can_be_drawn():
    z = torch.zeros(1, 2)
    same = Outputs(z, z, z, torch.zeros(1, dtype=torch.long))
    out = {"forget": same, "control": same, "never": same, "retain": same}
    found = curves(out, out)
    assert found["edges"][0] < 0 < found["edges"][-1] and sum(found["shares"]["forgotten after"]) == 1.0
    json.dumps(found, allow_nan=False)
