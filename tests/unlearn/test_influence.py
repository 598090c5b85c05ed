from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sublimate.unlearn.conjugate import Conjugate
from sublimate.unlearn.influence import Influence

FORGET = torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([0])
RETAIN = torch.tensor([[[[0.0, 1.0]]], [[[1.0, 1.0]]]]), torch.tensor([1, 0])


def linear() -> nn.Module:
    """All weights nil: p = (1/2, 1/2)."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    nn.init.zeros_(model[1].weight)
    return model


# The first row of a gradient is (1/2 − [y = 0])·x, the second its opposite.
# D_f: −1/2·(1, 0).  D_r: the sum of 1/2·(0, 1) and −1/2·(1, 1) is (−1/2, 0).
# v = 1/3·(−1/2, 0) − 1/(3·2)·(−1/2, 0) = (−1/12, 0).
#
# none: k = v.
# diag: the squares are x²/4, with the mean (1/8, 1/4) over D_r; μ = 1/8: k = −1/12 / (1/4) = −1/3.
# cg: diag p − p pᵀ = 1/4·[[1, −1], [−1, 1]] has the eigenvalue 1/2 for (1, −1), and E xxᵀ = [[.5, .5], [.5, 1]].
#     With μ = 1/4 the first row solves [[.5, .25], [.25, .75]] u = (−1/12, 0): u = (−.75, .25)/.3125/12 = (−.2, 1/15).
BY_HAND = [
    ("none", 1.0, (-1 / 12, 0.0)),
    ("diag", 0.125, (-1 / 3, 0.0)),
    ("cg", 0.25, (-0.2, 1 / 15)),
]


@pytest.mark.parametrize(("solver", "damping", "k"), BY_HAND)
def test_a_run_by_hand(solver: Any, damping: float, k: tuple[float, float]) -> None:
    method = Influence(solver=solver, damping=damping, alpha=3.0, tolerance=1e-7)
    weight = next(method.unlearn(linear(), FORGET, RETAIN).parameters()).detach()
    torch.testing.assert_close(weight, 3 * torch.tensor([k, (-k[0], -k[1])]), rtol=0, atol=1e-6)


def gradient(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    found = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
    return torch.cat([g.reshape(-1) for g in found])


def dense(model: nn.Module, x: Tensor) -> Tensor:
    """E Jᵀ (diag p − p pᵀ) J, written out."""
    total: Any = 0
    for one in x.split(1):
        z = model(one)[0]
        rows = [torch.autograd.grad(logit, list(model.parameters()), retain_graph=True) for logit in z]
        J = torch.stack([torch.cat([g.reshape(-1) for g in row]) for row in rows])
        p = z.detach().softmax(0)
        total = total + J.T @ (p.diag() - p.outer(p)) @ J
    return total / len(x)


def test_conjugate_gradients_give_the_dense_solution(toy: Any) -> None:
    rows, data = toy.split, toy.data
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    nn.init.normal_(model[1].weight, std=0.1, generator=torch.Generator().manual_seed(0))
    (x_f, y_f), (x_r, y_r) = (data.read(part) for part in (rows.forget, rows.few))
    x_f, x_r = data.normalise(x_f), data.normalise(x_r)
    v = 60 / 240 * (gradient(model, x_f, y_f) - gradient(model, x_r, y_r))
    H = dense(model, x_r) + 0.05 * torch.eye(len(v))
    wanted = torch.linalg.solve(H.double(), v.double()).float()
    method = Influence(alpha=1.0, damping=0.05, iterations=100, tolerance=1e-6, batch_size=25)
    outcome = method.run(model, rows.forget_set, rows.few_set, ratios=rows.ratios)
    before, after = (torch.cat([p.detach().reshape(-1) for p in m.parameters()]) for m in (model, outcome.model))
    assert float((after - before - wanted).norm() / wanted.norm()) < 1e-4
    residuals = [check["residual"] for check in outcome.record.checks]
    assert residuals[-1] <= 1e-6 < min(residuals[:-1])
    assert outcome.record.stopped == "the residual is small"
    assert outcome.record.samples == {"forget": 60, "retain": 60 + 60 * len(residuals)}  # it stopped at once
    assert len(residuals) < 100 and method.reads(60, 60) == {"forget": 60, "retain": 60 + 60 * 100}


def test_the_iterations_bound_the_work(toy: Any) -> None:
    rows = toy.split
    method = Influence(alpha=10.0, iterations=2, tolerance=1e-12, sample=30, batch_size=16)
    record = method.run(toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios).record
    assert record.stopped == "all epochs done" and len(record.checks) == 2
    assert record.samples == method.reads(60, 60) == {"forget": 60, "retain": 60 + 2 * 30}


def test_nothing_to_solve_is_solved_at_once() -> None:
    cg = Conjugate(3, torch.device("cpu"), damping=0.1, tolerance=1e-3)
    cg.start(torch.zeros(3))
    cg.gather(torch.zeros(3), 5)
    cg.advance()
    assert torch.equal(cg.solution, torch.zeros(3)) and cg.measure() == ({"residual": 0.0}, "the residual is small")


def test_a_saved_solver_goes_on() -> None:
    g = torch.Generator().manual_seed(0)
    A = torch.randn(5, 5, generator=g, dtype=torch.double).float()
    H, v = A @ A.T, torch.randn(5, generator=g)
    solver = Conjugate(5, torch.device("cpu"), damping=0.5, tolerance=1e-6)
    solver.start(v)
    for _ in range(7):
        again = Conjugate(5, torch.device("cpu"), damping=0.5, tolerance=1e-6)
        again.load_state_dict(copy.deepcopy(solver.state_dict()))
        again.gather(H @ again.direction, 1)
        again.advance()
        solver = again
    torch.testing.assert_close(solver.solution, torch.linalg.solve(H + 0.5 * torch.eye(5), v), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("solver", ["cg", "diag"])
def test_the_search_forgets_a_class_and_keeps_the_rest(toy: Any, solver: Any) -> None:
    rows = toy.split
    outcome = Influence(solver=solver).run(
        toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios, val=rows.val_set
    )
    assert 1 <= outcome.record.choices["alpha"] <= 100
    right = {}
    for part in (rows.forget_set, rows.few_set):
        x, y = toy.data.read(part.rows)
        right[part.name] = float((outcome.model(toy.data.normalise(x)).argmax(1) == y).float().mean())
    assert right["forget"] < 0.1 and right["retain"] > 0.9
