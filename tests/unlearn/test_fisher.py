from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sublimate.randomness import stream
from sublimate.unlearn.fisher import Fisher, expected, head_names, sampled, variance

FORGET = torch.tensor([[[[2.0, 0.0]]]]), torch.tensor([0])
RETAIN = torch.tensor([[[[0.0, 1.0]]], [[[1.0, 1.0]]]]), torch.tensor([1, 1])


def linear(rows: list[list[float]]) -> nn.Module:
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    model[1].weight.data = torch.tensor(rows)
    return model


def test_variance_by_hand() -> None:
    # 1/F = (2, 4); a matrix: mean 3; the head ten times that.  A vector: no mean, ten times.
    fisher = torch.tensor([[0.5, 0.25]])
    torch.testing.assert_close(variance(fisher, 0.1, head=False), torch.tensor([[0.3, 0.3]]))
    torch.testing.assert_close(variance(fisher, 0.1, head=True), torch.tensor([[3.0, 3.0]]))
    torch.testing.assert_close(variance(fisher[0], 0.1, head=False), torch.tensor([2.0, 4.0]))
    torch.testing.assert_close(variance(fisher[0], 0.1, head=True), torch.tensor([2.0, 4.0]))
    # Caps: 1000, and 100 in the head.
    nothing = torch.zeros(1, 2)
    torch.testing.assert_close(variance(nothing, 0.1, head=False), torch.tensor([[100.0, 100.0]]))
    torch.testing.assert_close(variance(nothing, 0.1, head=True), torch.tensor([[100.0, 100.0]]))
    # Filters are averaged over their inputs (dim 1) alone.
    filters = torch.tensor([1.0, 0.5, 0.25, 0.125]).view(1, 2, 1, 2)  # 1/F = 1, 2 and 4, 8: means 2.5 and 5
    torch.testing.assert_close(variance(filters, 1.0, False), torch.tensor([2.5, 5.0, 2.5, 5.0]).view(1, 2, 1, 2))


def test_a_run_by_hand() -> None:
    # Equal rows: p = 1/2, so F = x²/4 for either label, with the mean (1/8, 1/4) over D_r.  The head: 1/F = (8, 4),
    # mean 6, ten times that.  Class 0 is gone: its row is noise of variance 1e-4 around nil.
    for labels in ("expected", "sampled"):
        model = linear([[1.0, 2.0], [1.0, 2.0]])
        erased = Fisher(alpha=0.01, labels=labels).unlearn(model, FORGET, RETAIN)  # type: ignore[arg-type]
        n = torch.randn(2, 2, generator=stream(0, "noise", "1.weight"))
        wanted = torch.stack([0.01 * n[0], torch.tensor([1.0, 2.0]) + 0.6**0.5 * n[1]])
        torch.testing.assert_close(next(erased.parameters()).detach(), wanted, rtol=0, atol=1e-6)


def enumerated(model: nn.Module, x: Tensor) -> list[Tensor]:
    """Σ_x Σ_y p(y|x)·grad², one backward pass for each pair."""
    sums = [torch.zeros_like(p) for p in model.parameters()]
    for one in x.split(1):
        for y in range(model(one).shape[1]):
            log_p = F.log_softmax(model(one), 1)[0, y]
            for total, g in zip(sums, torch.autograd.grad(log_p, list(model.parameters())), strict=True):
                total += log_p.detach().exp() * g**2
    return sums


def test_expected_is_the_sum_over_all_labels(toy: Any) -> None:
    x = toy.data.normalise(toy.data.read(toy.split.few[:9])[0]) / 4  # less sure of itself
    for found, wanted in zip(expected(toy.model, x).values(), enumerated(toy.model, x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)


def test_sampled_labels_are_right_in_the_mean() -> None:
    model = linear([[0.3, -0.2], [-0.5, 0.4]])
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).view(3, 1, 1, 2)
    found = sampled(model, x.repeat(4000, 1, 1, 1), torch.Generator().manual_seed(0))["1.weight"] / 4000
    torch.testing.assert_close(found, enumerated(model, x)[0], rtol=0.05, atol=0)


def test_a_run_is_the_slow_loop(toy: Any) -> None:
    rows, wanted = toy.split, copy.deepcopy(toy.model)
    x = toy.data.normalise(toy.data.read(rows.few)[0])
    with_names = dict(zip(dict(wanted.named_parameters()), enumerated(wanted, x), strict=True))
    for name, p in wanted.named_parameters():
        head = name in ("5.weight", "5.bias")
        var = 1e-5 * (1 / (with_names[name] / len(x) + 1e-8)).clamp(max=100 if head else 1000)
        if p.ndim > 1:
            var = var.mean(1, keepdim=True).expand(p.shape).clone()
        if head or p.ndim == 1:
            var = var * 10
        if head:
            p.data[1], var[1] = 0, 1e-4  # class b
        p.data += var.sqrt() * torch.randn(p.shape, generator=stream(3, "noise", name))
    method = Fisher(alpha=1e-5, labels="expected", seed=3)
    erased = method.unlearn(toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios)
    for mine, theirs in zip(erased.parameters(), wanted.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5)


def test_every_class_that_is_gone_loses_its_row_and_only_then() -> None:
    model = linear([[50.0, 50.0], [50.0, 50.0]])
    for forget_y, retain_y, gone in ((0, 1, [True, False]), (0, 0, [False, False])):
        parts = (FORGET[0], torch.tensor([forget_y])), (RETAIN[0], torch.tensor([retain_y, 1]))
        rows = next(Fisher(alpha=1e-9).unlearn(model, *parts).parameters()).detach()
        assert (rows.abs().amax(1) < 1).tolist() == gone


def test_only_the_sample_is_read(toy: Any) -> None:
    rows, method = toy.split, Fisher(alpha=1e-5, sample=10)
    record = method.run(toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios).record
    assert record.samples == method.reads(60, 60) == {"retain": 10}


def test_the_head_is_the_last_module_with_a_row_for_each_class() -> None:
    model = nn.Sequential(nn.Conv2d(1, 3, 1), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, 3), nn.Linear(3, 5))
    assert head_names(model, 3) == {"3.weight", "3.bias"}
    assert head_names(model, 7) == set()
