from __future__ import annotations

import pytest
import torch

import sublimate as sm
from sublimate.errors import Interrupted, UnlearningFailed
from sublimate.testing.behaviour import _Memory


def test_answers_that_are_no_numbers_are_a_failure_without_val_too(toy):
    given = toy.split
    with pytest.raises(UnlearningFailed, match=r"no numbers|non-finite") as failure:
        sm.method("neggrad", lr=1e38, epochs=1, margin=None).unlearn(
            toy.model, given.forget_set, given.few_set, ratios=given.ratios
        )
    images = toy.data.normalise(toy.data.read(given.forget)[0])
    assert bool(failure.value.model(images).isfinite().all())
    assert failure.value.model is not toy.model


def test_a_run_that_is_continued_after_its_last_iteration_still_warns(toy):
    given, saver = toy.split, _Memory()
    method = sm.method("neggrad", lr=0.3, epochs=1, batch_size=10)  # six iterations
    parts = {"ratios": given.ratios, "val": given.val_set}
    whole = method.run(toy.model, given.forget_set, given.few_set, **parts)
    asked = iter([False] * 5 + [True])
    with pytest.raises(Interrupted, match="iteration 6"):
        method.run(toy.model, given.forget_set, given.few_set, **parts, saver=saver, interrupted=lambda: next(asked))
    resumed = method.run(toy.model, given.forget_set, given.few_set, **parts, saver=saver)
    assert any("lost" in warning for warning in whole.record.warnings)
    assert resumed.record.warnings == whole.record.warnings
    assert all(torch.equal(a, b) for a, b in zip(whole.model.parameters(), resumed.model.parameters(), strict=True))


def test_a_collapse_tells_what_was_kept_also_when_the_run_was_continued(toy):
    given, saver = toy.split, _Memory()
    method = sm.method("neggrad", lr=30.0, epochs=2, batch_size=10)  # twelve iterations; ruined at their end
    parts = {"ratios": given.ratios, "val": given.val_set}
    with pytest.raises(UnlearningFailed) as whole:
        method.run(toy.model, given.forget_set, given.few_set, **parts)
    asked = iter([False] * 7 + [True])
    with pytest.raises(Interrupted, match="iteration 8"):
        method.run(toy.model, given.forget_set, given.few_set, **parts, saver=saver, interrupted=lambda: next(asked))
    with pytest.raises(UnlearningFailed) as resumed:
        method.run(toy.model, given.forget_set, given.few_set, **parts, saver=saver)
    assert 0 < whole.value.kept == resumed.value.kept < 0.5
