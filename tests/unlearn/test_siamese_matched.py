"""Matched vaporization by hand, and against a slow loop."""

from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.data.core import Data
from sublimate.inference import auc, confidence, predict
from sublimate.splits import Part, split
from sublimate.unlearn import matching
from sublimate.unlearn.job import Job
from sublimate.unlearn.matching import ENOUGH, Targets, quantiles, ranks
from sublimate.unlearn.siamese_matched import SiameseMatched, matched, vaporized


def test_matched_by_hand():
    # Two classes: φ of class 0 is z0 − z1.  φ = 2, 0.5, −1 against t = 0, 0, 0:
    # |2| ≥ 1 gives 2 − .5 = 1.5; .5 gives .5²/2 = .125; |−1| gives 1 − .5 = .5.  The sum is 2.125.
    logits, y = torch.tensor([[2.0, 0.0], [0.5, 0.0], [0.0, 1.0]]), torch.zeros(3, dtype=torch.long)
    assert float(matched(logits, y, torch.zeros(3, dtype=torch.double))) == pytest.approx(2.125, abs=1e-6)


def test_vaporized_by_hand():
    # Softmax of (ln 2, 0, 0) is (1/2, 1/4, 1/4); classes 1 and 2 remain: −log(1/4 + 1/4) = log 2.
    logits = torch.tensor([[math.log(2.0), 0.0, 0.0]])
    assert float(vaporized(logits, torch.tensor([1, 2]))) == pytest.approx(math.log(2), abs=1e-6)


def test_vaporized_leaves_the_proportions_of_what_remains():
    logits = torch.tensor([[3.0, 1.0, 0.0]], requires_grad=True)
    vaporized(logits, torch.tensor([1, 2])).backward()
    p = torch.softmax(logits.detach(), 1)[0]
    inside = p[1:] / p[1:].sum()
    # The gradient is p_k − [k remains]·p_k/Σ: for k that remain it is −p_k·(1/Σ − 1), in proportion to p_k.
    torch.testing.assert_close(logits.grad[0, 1:], p[1:] - inside)
    torch.testing.assert_close(logits.grad[0, 0], p[0])


def linear_job(forget, kept, unseen, ratios=(0.2, 0.0)):
    """Images of one pixel; the network's φ of class 0 is that pixel."""
    values = torch.tensor([*forget, *kept, *unseen])
    data = Data(
        name="written",
        images=values.view(-1, 1, 1, 1),
        labels=torch.zeros(len(values), dtype=torch.long),
        sizes=(len(forget) + len(kept), len(unseen), 0),
        classes=("a", "b"),
    )
    model = nn.Sequential(nn.Flatten(), nn.Linear(1, 2, bias=False))
    model[1].weight.data = torch.tensor([[1.0], [0.0]])
    n = len(forget)
    return Job(
        model=model,
        original=model,
        forget=Part(data, torch.arange(n), "forget"),
        retain=Part(data, torch.arange(n, n + len(kept)), "retain"),
        val=Part(data, data.test, "val"),
        ratios=torch.tensor(ratios),
        seed=0,
        device=torch.device("cpu"),
    )


def test_many_records_take_the_never_seen_distribution():
    forget = [float(v) for v in torch.linspace(5, 15, 50)]
    unseen = [float(v) for v in torch.linspace(-3, 11, 40)]
    job = linear_job(forget, [0.0] * 30, unseen)
    targets = Targets(job).values
    assert torch.equal(targets.argsort(), torch.tensor(forget).argsort())  # ranks are kept
    assert auc(targets, torch.tensor(unseen)) == pytest.approx(0.5, abs=0.01)
    torch.testing.assert_close(
        ranks(job, confidence(predict(job.original, job.forget), job.forget.labels), 0.1)[0].item(), 0.5 / 50
    )


def test_few_records_are_ranked_among_retained_ones():
    kept = [float(v) for v in range(25)]
    job = linear_job([12.5, -9.0], kept, [float(v) for v in range(21)])
    # 12.5 stands above 13 of 25 retained ones; −9 below all: the end is cut at .1.
    torch.testing.assert_close(
        ranks(job, confidence(predict(job.original, job.forget), job.forget.labels), 0.1),
        torch.tensor([0.52, 0.1], dtype=torch.double),
    )
    torch.testing.assert_close(Targets(job).values, torch.tensor([10.4, 2.0], dtype=torch.double))


def test_of_a_few_dozen_records_none_is_sent_to_an_end():
    # Twelve records above all retained ones have rank 1; never-seen φ are 0 … 20: the 90 % quantile is 18.
    job = linear_job([99.0] * 12, [float(v) for v in range(25)], [float(v) for v in range(21)])
    assert set(Targets(job).values.tolist()) == {18.0}


def test_a_crowd_of_small_classes_takes_the_never_seen_distribution_of_these_classes(monkeypatch):
    # Four records, two of each class, all above every retained one.  Together they have the ranks 1/8, 3/8, 5/8, 7/8 of
    # the never-seen φ 0 … 8 of their classes; those of the third class (all 99) are none of their like.
    monkeypatch.setattr(matching, "A_CROWD", 4)
    monkeypatch.setattr(matching, "ENOUGH", 3)
    mine, phi = torch.tensor([0, 1, 0, 1]), torch.tensor([*range(9), 99.0, 99.0, 99.0])
    labels = torch.tensor([0, 1, 0, 1, 0, 1, 0, 1, 0, 2, 2, 2])
    job = linear_job([50.0, 51.0, 52.0, 53.0], [float(v) for v in range(25)], [0.0] * 4)
    job.forget.data.labels[:4] = mine
    found = ranks(job, torch.tensor([53.0, 50.0, 51.0, 52.0], dtype=torch.double), 0.0)
    assert found.tolist() == [0.875, 0.125, 0.375, 0.625]
    assert quantiles(phi, labels, mine, found).tolist() == [7.0, 1.0, 3.0, 5.0]


def test_a_class_with_few_never_seen_records_borrows_from_all():
    phi = torch.arange(ENOUGH + 1.0)
    labels = torch.zeros(ENOUGH + 1, dtype=torch.long)
    assert quantiles(phi, labels, torch.tensor([1]), torch.tensor([1.0])).item() == ENOUGH


def test_four_steps_equal_a_slow_loop(toy):
    """Every update written out: batches, views and targets are taken from the method's own streams."""
    chosen = split(toy.data, "random@20%", few=60)
    method = SiameseMatched(
        steps=4,
        lr=0.05,
        batch_size=16,
        forget_batch=8,
        weight=0.7,
        until=0.75,
        pulls=1,
        refresh=2,
        views="none",
        norm="eval",
    )
    erased = method.run(
        toy.model, chosen.forget_set, chosen.few_set, ratios=chosen.ratios, val=chosen.val_set
    ).model.state_dict()

    slow = copy.deepcopy(toy.model).eval()
    job = Job(
        model=slow, original=toy.model, forget=chosen.forget_set, retain=chosen.few_set, val=chosen.val_set,
        ratios=chosen.ratios, seed=0, device=torch.device("cpu"),
    )  # fmt: skip
    targets = Targets(job)
    phi0 = confidence(predict(toy.model, chosen.forget_set), chosen.forget_set.labels)
    far = (phi0 - targets.values).abs() > 1.0
    assert 8 < int(far.sum()) < len(far)  # some records are left alone
    keep, gone = job.batches(job.retain, 16, cycle=True), job.batches(job.forget.where(far), 8, cycle=True)
    weights = list(slow.parameters())
    speed = [torch.zeros_like(p) for p in weights]
    for t in range(4):
        if t == 2:
            targets.refresh()
        a, b = keep.at(t), gone.at(t)
        loss = F.cross_entropy(slow(toy.data.normalise(a.x)), a.y)
        phi = confidence(slow(toy.data.normalise(b.x)), b.y)
        for value, goal in zip(phi, targets.values[far][b.places], strict=True):
            if t == 3:
                break  # the last quarter anneals on D_r alone
            away = (value - goal).abs()
            loss = loss + 0.7 * (away - 0.5 if away >= 1 else away**2 / 2) / len(a.y)
        grads = torch.autograd.grad(loss, weights)
        lr = 0.05 * 60 / len(chosen.retain) * (1 + math.cos(math.pi * t / 4)) / 2  # 60 are at hand
        for p, g, v in zip(weights, grads, speed, strict=True):
            v.mul_(0.9).add_(g + 5e-4 * p.detach())
            p.data -= lr * v
    for name, tensor in slow.state_dict().items():
        torch.testing.assert_close(erased[name], tensor, rtol=1e-5, atol=1e-6)


def test_length_and_rate_follow_the_request():
    method = SiameseMatched(steps=800, passes=5, forget_batch=32)
    assert method.length(forget=3200, retain=40_000) == 500  # 5 · 3200 / 32
    assert method.length(forget=9000, retain=40_000) == 800  # at most
    assert method.length(forget=1, retain=40_000) == 100  # at least
    assert method.length(forget=1000, retain=200) == 30  # one batch is a pass over 200 records: 30 passes


def test_random_records_end_like_never_seen_ones():
    """On a problem learned by heart: the AUC comes nearer to one half."""
    torch.manual_seed(0)
    noisy = Data(
        name="noise",
        images=torch.rand(200, 1, 8, 8),
        labels=torch.arange(200) % 2,
        sizes=(100, 100, 0),
        classes=("a", "b"),
        mean=(0.5,),
        std=(0.3,),
        flip=False,
    )
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    x, y = noisy.read(noisy.train)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = F.cross_entropy(model(noisy.normalise(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    chosen = split(noisy, "random@20%", few="all")
    control = Part(noisy, chosen.control, "control")

    def trace(network):
        return auc(*(confidence(predict(network, part), part.labels) for part in (chosen.forget_set, control)))

    method = SiameseMatched(steps=60, lr=0.02, batch_size=20, refresh=5, views="none")
    erased = method.unlearn(model.eval(), chosen.forget_set, chosen.few_set, ratios=chosen.ratios, val=chosen.val_set)
    assert trace(model) > 0.9
    assert abs(trace(erased) - 0.5) < (trace(model) - 0.5) / 2
