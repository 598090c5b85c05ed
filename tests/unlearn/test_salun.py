from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.errors import InputRefused
from sublimate.unlearn.salun import Mask, SalUn, salient

FORGET = torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([0])
RETAIN = torch.tensor([[[[0.0, 2.0]]], [[[3.0, 1.0]]]]), torch.tensor([1, 0])


def linear(rows: list[list[float]]) -> nn.Module:
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    model[1].weight.data = torch.tensor(rows)
    return model


def test_salient_by_hand() -> None:
    g = {"w": torch.tensor([[1.0, -6.0], [0.5, 2.0]]), "b": torch.tensor([-3.0, 0.0])}
    found = salient(g, 0.5)  # 3 of 6: 6, 3, 2
    assert found["w"].tolist() == [[False, True], [False, True]] and found["b"].tolist() == [True, False]
    assert salient(g, 1.0)["b"].tolist() == [True, False]  # without a gradient never
    assert sum(int(m.sum()) for m in salient(g, 1e-9).values()) == 1  # the largest one at least
    assert salient({"w": torch.tensor([2.0, -2.0, 1.0])}, 1 / 3)["w"].tolist() == [True, True, False]  # equals together


def test_salient_counts_exactly() -> None:
    g = torch.Generator().manual_seed(0)
    gradients = {name: torch.randn(shape, generator=g) for name, shape in (("a", (70, 30)), ("b", (13,)))}
    everything = torch.cat([t.abs().flatten() for t in gradients.values()]).sort(descending=True).values
    found = salient(gradients, 0.3)
    moving = round(0.3 * 2113)
    assert sum(int(m.sum()) for m in found.values()) == moving
    assert all(bool((gradients[n].abs()[m] >= everything[moving - 1]).all()) for n, m in found.items())


def test_an_update_by_hand() -> None:
    # p = (1/2, 1/2); the first row of a gradient is (1/2 − [y = 0])·x, the second its opposite.
    # D_f: −1/2·(1, 0): of four weights the two of the first column are salient.
    # The mixed batch with ỹ = 1: 1/2·(1, 0) + 1/2·(0, 2) − 1/2·(3, 1) = (−1, 1/2); the mean of three: (−1/3, 1/6).
    # A rate of .6 moves the first column by .2; the second stays, though it has a gradient.
    method = SalUn(lr=0.6, epochs=1, batch_size=3, views="none")
    outcome = method.run(linear([[0.0, 0.0], [0.0, 0.0]]), FORGET, RETAIN)
    weight = next(outcome.model.parameters()).detach()
    torch.testing.assert_close(weight, torch.tensor([[0.2, 0.0], [-0.2, 0.0]]), rtol=0, atol=1e-6)
    # Each record costs log 2.
    torch.testing.assert_close(outcome.record.losses[-1]["ce forget"], 0.6931472 / 3, rtol=0, atol=1e-6)
    torch.testing.assert_close(outcome.record.losses[-1]["ce retain"], 0.6931472 * 2 / 3, rtol=0, atol=1e-6)


def test_three_updates_are_the_slow_loop() -> None:
    model = linear([[0.3, -0.2], [0.1, 0.4]])
    start = model[1].weight.detach().clone()  # type: ignore[index]
    x, y = torch.cat([FORGET[0], RETAIN[0]]), torch.tensor([1, 1, 0])  # with two classes there is one other label
    gradient = torch.autograd.grad(F.cross_entropy(model(FORGET[0]), FORGET[1]), model[1].weight)[0]  # type: ignore[index]
    moving = gradient != 0  # x = (1, 0): the first column, which is the salient half
    weight, momentum = start.clone().requires_grad_(), torch.zeros(2, 2)
    for _ in range(3):
        slope = torch.autograd.grad(F.cross_entropy(x.flatten(1) @ weight.T, y), weight)[0]
        momentum = (0.9 * momentum + slope + 0.05 * weight.detach()) * moving
        weight = (weight.detach() - 0.1 * momentum).requires_grad_()
    method = SalUn(lr=0.1, weight_decay=0.05, epochs=3, batch_size=3, views="none")
    found = next(method.unlearn(model, FORGET, RETAIN).parameters()).detach()
    torch.testing.assert_close(found, weight.detach(), rtol=0, atol=1e-6)
    assert torch.equal(found[:, 1], start[:, 1])


def test_what_is_masked_out_stays_to_the_bit(toy: Any) -> None:
    rows = toy.split
    gradients = {}
    reference = copy.deepcopy(toy.model).eval()
    x, y = toy.data.read(rows.forget)
    F.cross_entropy(reference(toy.data.normalise(x)), y).backward()
    for name, p in reference.named_parameters():
        assert p.grad is not None
        gradients[name] = p.grad
    method = SalUn(lr=0.02, momentum=0.9, weight_decay=0.1, batch_size=16, epochs=3, share=0.3)
    erased = method.unlearn(toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios)
    before, stayed = dict(toy.model.named_parameters()), 0
    for name, p in erased.named_parameters():
        mask = salient(gradients, 0.3)[name]
        assert torch.equal(p[~mask], before[name][~mask])
        assert bool((p[mask] != before[name][mask]).all())
        stayed += int((~mask).sum())
    assert stayed >= 0.7 * sum(p.numel() for p in before.values()) - 1


def test_the_mask_holds_weights_and_momentum() -> None:
    model, original = linear([[1.0, 2.0], [3.0, 4.0]]), linear([[0.0, 0.0], [0.0, 0.0]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    weight = next(model.parameters())
    optimizer.state[weight]["momentum_buffer"] = torch.ones(2, 2)
    mask = Mask(model)
    mask.set({"1.weight": torch.tensor([[True, False], [False, True]])})
    again = Mask(model)
    again.load_state_dict(mask.state_dict())  # as a continued run has it
    again.hold(model, original, optimizer)
    assert weight.tolist() == [[1.0, 0.0], [0.0, 4.0]]
    assert optimizer.state[weight]["momentum_buffer"].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_reads_are_what_is_read(toy: Any) -> None:
    rows = toy.split
    for size in (16, 128):
        method = SalUn(batch_size=size, epochs=2, lr=0.02)
        record = method.run(toy.model, rows.forget_set, rows.few_set, ratios=rows.ratios).record
        assert record.samples == method.reads(60, 60)


def test_more_than_all_weights_are_no_share() -> None:
    with pytest.raises(InputRefused, match="share"):
        SalUn(share=1.5)
