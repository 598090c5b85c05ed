"""No sabotage of the zoo passes, the original fails; on networks that know their records by heart."""

from __future__ import annotations

import json

import pytest

from sublimate.bench.assurance import verdicts
from sublimate.bench.memorised import PROBLEMS
from sublimate.plan import Step, result, run
from sublimate.store import Store
from sublimate.testing.sabotage import ZOO


@pytest.mark.slow
@pytest.mark.parametrize("request_", PROBLEMS["digits"].requests)
def test_nobody_passes_who_did_not_erase(request_, tmp_path):
    parameters = {"problem": "digits", "request": request_, "seed": 20}  # no seed of the published table
    step, store = Step(name="zoo", function=verdicts, parameters=parameters, version="1"), Store(tmp_path)
    assert not run([step], store).failed
    rows = json.loads(result(step, store))
    assert rows[0]["train accuracy"] > 99
    found = {row["network"]: row["verdict"] for row in rows if row["tier"] == 2}
    assert set(found) == {"original", "retrain", *ZOO}
    assert found.pop("original") == "FAIL" and found.pop("retrain") != "FAIL"
    assert "PASS" not in found.values()
