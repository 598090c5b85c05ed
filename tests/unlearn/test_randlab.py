"""RandLab and Amnesiac: the labels they draw, updates worked by hand, and against plain loops."""

import copy
from collections import Counter
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import chisquare
from torch import nn

from sublimate.unlearn.amnesiac import Amnesiac
from sublimate.unlearn.job import Job
from sublimate.unlearn.randlab import RandLab
from sublimate.unlearn.relabel import random_labels, relabelled

RATIOS = torch.tensor([1.0, 1.0, 0.3, 0.0])  # of classes 0 and 1 nothing remains


def job_of(toy, seed=0):
    s, model = toy.split, copy.deepcopy(toy.model).train()
    return Job(
        model=model,
        original=toy.model,
        forget=s.forget_set,
        retain=s.few_set,
        val=None,
        ratios=s.ratios,
        seed=seed,
        device=torch.device("cpu"),
    )


@pytest.mark.parametrize(
    ("labels", "y", "expected"),
    [
        ("all", 0, {0, 1, 2, 3}),
        ("others", 0, {1, 2, 3}),
        ("others", 3, {0, 1, 2}),
        ("retained", 0, {2, 3}),
        ("retained", 2, {3}),
        ("retained", 3, {2}),
    ],
)
def test_labels_are_even_over_the_classes_of_the_scheme(labels, y, expected):
    drawn = random_labels(torch.full((20_000,), y), RATIOS, labels, torch.Generator().manual_seed(0))
    counts = Counter(drawn.tolist())
    assert set(counts) == expected
    if len(expected) > 1:
        assert chisquare(list(counts.values())).pvalue > 1e-3


def test_where_nothing_else_remains_any_other_class_is_drawn():
    y, only_two_remains = torch.full((20_000,), 2), torch.tensor([1.0, 1.0, 0.3])
    counts = Counter(random_labels(y, only_two_remains, "retained", torch.Generator().manual_seed(0)).tolist())
    assert set(counts) == {0, 1}
    assert chisquare(list(counts.values())).pvalue > 1e-3


def epochs_of(toy, drawn, epochs=5):
    job = job_of(toy)
    relabel, forget = relabelled(job, "others", drawn), job.batches(job.forget, 16)
    found = torch.full((epochs, len(job.forget)), -1)
    for t in range(epochs * len(forget)):
        batch = forget.at(t)
        found[t // len(forget), batch.places] = relabel(batch, t // len(forget))
    return found


def test_once_gives_each_record_the_same_label_in_every_epoch(toy):
    found = epochs_of(toy, "once")
    assert (found == found[0]).all()
    assert len(found[0].unique()) == 3 and (found != 1).all()  # class b is forgotten; all others occur


def test_epoch_draws_anew(toy):
    found = epochs_of(toy, "epoch")
    assert (found != 1).all()
    assert all(0.1 < (one == other).float().mean() < 0.6 for one, other in pairwise(found))  # ⅓
    assert torch.equal(found, epochs_of(toy, "epoch"))


# Three records, two classes, z = W·x, W = 0, so p = ½ and the gradient of CE is (p − ẽ)·xᵀ.
# Retained: (1, 0) of class 0 and (0, 1) of class 1; forgotten: (2, 1) of class 0, whose only other label is 1.
RETAIN = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).view(2, 1, 1, 2), torch.tensor([0, 1])
FORGET = torch.tensor([[2.0, 1.0]]).view(1, 1, 1, 2), torch.tensor([0])


def linear():
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    nn.init.zeros_(model[1].weight)
    return model


def erased(method):
    outcome = method.run(linear(), FORGET, RETAIN, ratios=[0.5, 0.0])
    return outcome.model[1].weight.detach(), outcome.record


ONE_STEP = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0, "epochs": 1, "views": "none"}


@pytest.mark.parametrize("labels", ["retained", "others"])
def test_joint_randlab_by_hand(labels):
    # Sum over the three: row 0: (−½, 0) + (0, ½) + ½·(2, 1) = (½, 1); row 1 is its negative.
    # Mean: (1/6, 1/3); times −0.1.
    W, record = erased(RandLab(**ONE_STEP, labels=labels))
    expected = torch.tensor([[-1 / 60, -1 / 30], [1 / 60, 1 / 30]])
    assert torch.allclose(W, expected, rtol=0, atol=1e-6)
    # Each record has the loss ln 2 = 0.6931472; two thirds of the batch are retained.
    assert record.losses == [
        {"ce retain": pytest.approx(0.4620981, abs=1e-6), "ce forget": pytest.approx(0.2310491, abs=1e-6)}
    ]
    assert record.samples == {"forget": 1, "retain": 2}


def test_forget_first_by_hand():
    # First D_f: gradient ½·(2, 1) = (1, ½), so row 0 is (−0.1, −0.05), row 1 its negative.
    # Then D_r: z0 − z1 is −0.2 for (1, 0) of class 0 and −0.1 for (0, 1) of class 1; p0 = 1/(1 + e^0.2) = 0.4501660
    # and 1/(1 + e^0.1) = 0.4750208.  Gradient of row 0: ((0.4501660 − 1)·(1, 0) + 0.4750208·(0, 1))/2 =
    # (−0.2749170, 0.2375104), so row 0 ends at (−0.1 + 0.0274917, −0.05 − 0.0237510).
    W, record = erased(RandLab(**ONE_STEP, order="forget-first"))
    row = torch.tensor([-0.0725083, -0.0737510])
    assert torch.allclose(W, torch.stack([row, -row]), rtol=0, atol=1e-6)
    assert [list(losses) for losses in record.losses] == [["ce forget"], ["ce retain"]]
    assert record.samples == {"forget": 2, "retain": 2}  # one record, filled up to two rows


def test_amnesiac_by_hand():
    # The gradient is that of the joint RandLab, and Adam's first step is lr·g/(|g| + 1e-8): the rate, by sign.
    W, record = erased(Amnesiac(lr=0.01, epochs=1, views="none"))
    expected = torch.tensor([[-0.01, -0.01], [0.01, 0.01]])
    assert torch.allclose(W, expected, rtol=0, atol=1e-6)
    assert record.samples == {"forget": 1, "retain": 2}


def slow_joint(job, size, labels, drawn, optimizer, epochs):
    """A plain loop over mixed batches."""
    retain, forget = job.mixed(size)
    relabel = relabelled(job, labels, drawn)
    for t in range(epochs * len(retain)):
        kept, gone = retain.at(t), forget.at(t)
        x = torch.cat([job.retain.data.normalise(kept.x), job.forget.data.normalise(gone.x)])
        y = torch.cat([kept.y, relabel(gone, t // len(retain))])
        optimizer.zero_grad()
        F.cross_entropy(job.model(x), y).backward()
        optimizer.step()
    return job.model


def same(one, other, tolerance=1e-6):
    pairs = zip(one.state_dict().items(), other.state_dict().values(), strict=True)
    for (name, a), b in pairs:
        assert torch.allclose(a.double(), b.double(), rtol=0, atol=tolerance), name


def run(method, toy):
    s = toy.split
    return method.run(toy.model, s.forget_set, s.few_set, ratios=s.ratios)


@pytest.mark.parametrize("drawn", ["once", "epoch"])
def test_randlab_by_a_plain_loop(toy, drawn):
    job = job_of(toy)
    optimizer = torch.optim.SGD(job.model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    expected = slow_joint(job, 40, "retained", drawn, optimizer, epochs=2)
    outcome = run(RandLab(lr=0.01, epochs=2, batch_size=40, drawn=drawn, views="none"), toy)
    same(outcome.model, expected)
    assert outcome.record.samples == dict(job.meter)


def test_amnesiac_by_a_plain_loop(toy):
    job = job_of(toy)
    job.model.eval()  # in train mode a bias before batch norm has a gradient of nil, whose rounding Adam would blow up
    optimizer = torch.optim.Adam(job.model.parameters(), lr=1e-3)
    expected = slow_joint(job, 40, "others", "once", optimizer, epochs=2)
    outcome = run(Amnesiac(lr=1e-3, epochs=2, batch_size=40, views="none", norm="eval"), toy)
    same(outcome.model, expected)


def test_forget_first_by_a_plain_loop(toy):
    job = job_of(toy)
    optimizer = torch.optim.SGD(job.model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    forget, retain = job.batches(job.forget, 25), job.batches(job.retain, 25)
    relabel = relabelled(job, "retained", "epoch")
    for epoch in range(2):
        passes = [(forget.at(3 * epoch + k), True) for k in range(3)] + [
            (retain.at(3 * epoch + k), False) for k in range(3)
        ]
        for batch, is_forgotten in passes:
            optimizer.zero_grad()
            y = relabel(batch, epoch) if is_forgotten else batch.y
            F.cross_entropy(job.model(toy.data.normalise(batch.x)), y).backward()
            optimizer.step()
    method = RandLab(lr=0.01, epochs=2, batch_size=25, order="forget-first", views="none")
    outcome = run(method, toy)
    same(outcome.model, job.model)
    assert outcome.record.samples == method.reads(60, 60) == {"forget": 120, "retain": 120}


@pytest.mark.parametrize("method", [RandLab(epochs=1), RandLab(epochs=1, order="forget-first"), Amnesiac(epochs=1)])
def test_a_single_row_passes_a_batch_norm_over_vectors(method):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    one = RETAIN[0][:1], RETAIN[1][:1]
    outcome = method.run(model, FORGET, one, ratios=[0.5, 0.0])
    assert outcome.record.samples == method.reads(1, 1)
