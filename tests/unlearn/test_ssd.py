from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.splits import Part
from sublimate.unlearn.job import Job
from sublimate.unlearn.ssd import Ssd, dampened, importance

FORGET = torch.tensor([[[[2.0, 0.0]]]]), torch.tensor([0])
RETAIN = torch.tensor([[[[0.0, 1.0]]], [[[1.0, 1.0]]]]), torch.tensor([1, 0])


def linear() -> nn.Module:
    """Equal rows: p = (1/2, 1/2), so that a squared gradient is x²/4."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    model[1].weight.data = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
    return model


def run(method: Ssd) -> Tensor:
    """The weights after a run; equal rows shrink alike, so the base finds no effect and hands the network over."""
    with pytest.raises(UnlearningFailed, match="no effect") as failure:
        method.unlearn(linear(), FORGET, RETAIN)
    assert failure.value.model is not None
    return next(failure.value.model.parameters()).detach()


def test_a_run_by_hand() -> None:
    # I_f = (4, 0)/4 = (1, 0); I_r = mean of (0, 1)/4 and (1, 1)/4 = (1/8, 1/4); I_D = I_f/3 + 2/3·I_r = (5/12, 1/6).
    # 1 > 2·5/12 selects the first column, which shrinks by .6·5/12 = 1/4; the second has I_f = 0.
    found = run(Ssd(alpha=2.0, lam=0.6))
    torch.testing.assert_close(found, torch.tensor([[0.25, 2.0], [0.25, 2.0]]), rtol=0, atol=1e-6)
    assert torch.equal(run(Ssd(alpha=2.5, lam=0.6)), linear()[1].weight)  # type: ignore[index]  # 1 < 2.5·5/12 = 1.04


def test_a_run_per_batch_by_hand() -> None:
    # The batch of all three: rows ±[−1/2·(2, 0) + 1/2·(0, 1) − 1/2·(1, 1)]/3 = ±(−1/2, 0), squared (1/4, 0) = I_D.
    # D_f alone: I_f = (1, 0).  1 > 2/4; the first column shrinks by .6/4 = .15.
    found = run(Ssd(alpha=2.0, lam=0.6, importance="per_batch", batch_size=3))
    torch.testing.assert_close(found, torch.tensor([[0.15, 2.0], [0.15, 2.0]]), rtol=0, atol=1e-6)


def test_label_free_importance_by_hand() -> None:
    # z = (2, 2) for x = (2, 0); ∂‖z‖²/∂w = 2·2·x = (8, 0).  z = (−2, −2) for −x gives 2·(−2)·(−2, 0) = (8, 0) again.
    x = torch.cat([FORGET[0], -FORGET[0]])
    found, count = importance(linear(), x, torch.tensor([0, 1]), "label_free")
    torch.testing.assert_close(found["1.weight"], torch.tensor([[16.0, 0.0], [16.0, 0.0]]))
    assert count == 2


def test_a_huge_lambda_changes_nothing_and_nothing_over_nothing_is_not_selected() -> None:
    theta, I_D, I_f = torch.randn(3, 100, generator=torch.Generator().manual_seed(0)).unbind()
    I_D, I_f = I_D.square(), I_f.square() * 9
    for lam in (float("inf"), 1e300):
        assert torch.equal(dampened(theta, I_D, I_f, 1.0, lam), theta)
    assert not torch.equal(dampened(theta, I_D, I_f, 1.0, 1.0), theta)
    nothing = torch.zeros(100)
    assert torch.equal(dampened(theta, nothing, nothing, 1.0, 1.0), theta)
    assert torch.equal(dampened(theta, nothing, I_f, 1.0, 1.0), nothing)  # what only D_f needs goes


def slow_importance(model: nn.Module, part: Any) -> list[Tensor]:
    x, y = part.data.read(part.rows)
    x, sums = part.data.normalise(x), [torch.zeros_like(p) for p in model.parameters()]
    for i in range(len(y)):
        loss = F.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
        for total, g in zip(sums, torch.autograd.grad(loss, list(model.parameters())), strict=True):
            total += g**2 / len(y)
    return sums


def test_a_run_is_the_slow_loop(toy: Any) -> None:
    rows, wanted = toy.split, copy.deepcopy(toy.model)
    I_f, I_r = slow_importance(wanted, rows.forget_set), slow_importance(wanted, rows.few_set)
    for p, f, r in zip(wanted.parameters(), I_f, I_r, strict=True):
        D = 60 / 240 * f + 180 / 240 * r  # the few stand for all 180 retained records
        selected = f > 1.7 * D
        p.data[selected] *= (0.5 * D / f)[selected].clamp(max=1)
    erased = Ssd(alpha=1.7).unlearn(toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios)
    for mine, theirs in zip(erased.parameters(), wanted.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    for name, buffer in erased.named_buffers():
        assert torch.equal(buffer, dict(toy.model.named_buffers())[name])  # the statistics of batch norms stay


@pytest.mark.parametrize(("kind", "depends"), [("per_sample", False), ("label_free", False), ("per_batch", True)])
def test_only_per_batch_depends_on_the_size_of_batches(toy: Any, kind: Any, depends: bool) -> None:
    x, y = toy.data.read(toy.split.forget)
    x, found = toy.data.normalise(x), []
    for size in (8, 20):
        pieces = [importance(toy.model, a, b, kind) for a, b in zip(x.split(size), y.split(size), strict=True)]
        found.append(sum(p["0.weight"] for p, _ in pieces) / sum(n for _, n in pieces))
    same = torch.allclose(found[0], found[1], rtol=1e-4, atol=1e-12)
    assert same is not depends


def test_the_search_is_noted_and_its_result_is_that_of_the_value_it_found(toy: Any) -> None:
    rows = toy.split
    given = {"ratios": rows.ratios, "val": rows.val_set}
    outcome = Ssd().run(toy.model, rows.forget_set, rows.few_set, **given)
    alpha = outcome.record.choices["alpha"]
    fixed = dataclasses.replace(Ssd(), alpha=alpha).unlearn(toy.model, rows.forget_set, rows.few_set, **given)
    for mine, theirs in zip(outcome.model.parameters(), fixed.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert outcome.record.samples == {"forget": 60, "retain": 60}  # gathered once for all values


def test_a_search_without_val_is_refused_before_anything_is_gathered(toy: Any) -> None:
    told: list[Any] = []
    with pytest.raises(InputRefused, match="never-seen"):
        Ssd().unlearn(toy.model, toy.split.forget_set, toy.split.few_set, progress=told.append)
    assert not told


def test_wrong_strengths_are_refused() -> None:
    for alpha in (0.0, -1.0, "find", float("nan")):
        with pytest.raises(InputRefused):
            Ssd(alpha=alpha)  # type: ignore[arg-type]


def test_the_share_of_the_forgotten_counts_the_whole_training_set_where_it_is_known(toy: Any) -> None:
    def share(forget: Part, retain: Part) -> float:
        given: dict[str, Any] = {"val": None, "ratios": toy.split.ratios, "seed": 0, "device": torch.device("cpu")}
        return Job(model=toy.model, original=toy.model, forget=forget, retain=retain, **given).share

    forget, few = toy.split.forget_set, toy.split.few_set
    assert share(forget, few) == 60 / 240  # of one table
    assert share(forget, Part(copy.copy(toy.data), few.rows, "retain")) == 60 / 120  # of two: only what was given
    counted = dataclasses.replace(toy.data, class_counts=(100, 100, 100, 100))  # these rows are part of more
    assert share(*(Part(counted, part.rows, part.name) for part in (forget, few))) == 60 / 400
