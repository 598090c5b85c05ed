"""SCRUB and SCRUB+R: values worked out by hand, a slow reference, rewinding by errors made up."""

import copy
import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.splits import split
from sublimate.testing.behaviour import check_killed_and_continued_ends_in_the_same_bytes
from sublimate.testing.case import Case
from sublimate.testing.world import content
from sublimate.unlearn import rewind
from sublimate.unlearn.job import Job
from sublimate.unlearn.scrub import Scrub, distillation

LN3 = math.log(3)
QUICK = {"lr": 0.01, "batch_size": 16, "forget_batch_size": 16}


def images(*rows):
    return torch.tensor(rows, dtype=torch.float32).view(-1, 1, 1, 2)


def run(method, toy, chosen=None, **extra):
    s = chosen or toy.split
    return method.run(toy.model, s.forget_set, s.few_set, **{"ratios": s.ratios, "val": s.val_set} | extra)


def test_distillation_by_hand():
    # At τ = 2: softmaxes (3/4, 1/4) against (1/2, 1/2), KL 3/4·ln(3/2) + 1/4·ln(1/2) = 0.1308120, times 4.
    t, s = torch.tensor([[2 * LN3, 0.0]]), torch.zeros(1, 2)
    assert distillation(t, s, 2.0).item() == pytest.approx(0.5232481, abs=1e-6)


def test_first_epoch_by_hand():
    # Max pass: student and teacher are equal, so the KL is 0 and has no gradient.
    # Min pass, logits W·x with W = ((ln 3, 0), (0, 0)):
    #   x = (1, 0), y = 0: p = (3/4, 1/4), CE −ln 3/4 = 0.2876821    p − y = ±(−1/4)
    #   x = (0, 1), y = 1: p = (1/2, 1/2), CE  ln 2   = 0.6931472    p − y = ±(1/2)
    #   x = (1, 1), y = 1: p = (3/4, 1/4), CE −ln 1/4 = 1.3862944    p − y = ±(3/4)
    # γ = 1/2: ½·2.3671237/3 = 0.3945206.  Gradient of W's first row: (−1/4 + 3/4, 1/2 + 3/4)/6 = (1/12, 5/24).
    # lr 0.6: (ln 3 − 0.05, −0.125), and the second row (0.05, 0.125).
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    model[1].weight.data = torch.tensor([[LN3, 0.0], [0.0, 0.0]])
    outcome = Scrub(lr=0.6, weight_decay=0.0, epochs=1, msteps=1, gamma=0.5, views="none").run(
        model, (images((1, 2)), torch.tensor([0])), (images((1, 0), (0, 1), (1, 1)), torch.tensor([0, 1, 1]))
    )
    away, back = outcome.record.losses
    assert away == {"max kl": pytest.approx(0.0, abs=1e-6)}
    assert back == {"ce": pytest.approx(0.3945206, abs=1e-6), "min kl": pytest.approx(0.0, abs=1e-6)}
    weight = outcome.model[1].weight.flatten().tolist()
    assert weight == pytest.approx([LN3 - 0.05, -0.125, 0.05, 0.125], abs=1e-6)


def test_three_epochs_are_a_plain_loop():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3))
    forget, retain = torch.randn(4, 1, 1, 2), torch.randn(6, 1, 1, 2)
    gone, y = torch.zeros(4, dtype=torch.long), torch.tensor([1, 2, 1, 2, 1, 2])
    found = Scrub(lr=0.1, epochs=3, msteps=2, alpha=0.3, gamma=0.9, tau=2.0, decay_epochs=(1,), views="none").unlearn(
        model, (forget, gone), (retain, y)
    )

    def kl(x):  # the definition, record by record
        q, p = (model(x).detach() / 2).softmax(1), (student(x) / 2).softmax(1)
        return 4 * torch.stack([(a * (a.log() - b.log())).sum() for a, b in zip(q, p, strict=True)]).mean()

    student = copy.deepcopy(model)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    for epoch in (1, 2, 3):
        optimizer.param_groups[0]["lr"] = 0.1 if epoch == 1 else 0.01
        for leaves in (True, False) if epoch <= 2 else (False,):
            loss = -kl(forget) if leaves else 0.9 * F.cross_entropy(student(retain), y) + 0.3 * kl(retain)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for mine, theirs in zip(found.parameters(), student.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=0)


def test_passes_have_their_own_batch_sizes(toy):
    # 60 forgotten in batches of 25: 3 steps in two epochs of three; 60 retained in batches of 16: 4 steps in all three.
    seen = run(Scrub(epochs=3, msteps=2, batch_size=16, forget_batch_size=25), toy).record.losses
    assert ["max kl" in losses for losses in seen] == 2 * (3 * [True] + 4 * [False]) + 4 * [False]


@pytest.mark.parametrize(("epoch", "rate"), [(1, 1.0), (2, 1.0), (3, 0.5), (4, 0.5), (5, 0.25)])
def test_the_rate_decays_after_the_given_epochs(epoch, rate):
    assert Scrub(lr=1.0, decay_epochs=(2, 4), decay=0.5).rate(epoch) == rate


def test_decay_epochs_from_a_preset_file():
    assert Scrub(decay_epochs=[2, 4]) == Scrub(decay_epochs=(2, 4))
    for wrong in (3, "3", [1.5]):
        with pytest.raises(InputRefused, match="decay_epochs"):
            Scrub(decay_epochs=wrong)


def test_the_teacher_stays_and_the_student_changes(toy, monkeypatch):
    made, teachers = Job.teacher, []
    monkeypatch.setattr(Job, "teacher", lambda job: teachers.append(made(job)) or teachers[-1])
    erased = run(Scrub(**QUICK), toy).model
    assert [content(teacher) for teacher in teachers] == [content(toy.model)]
    assert content(erased) != content(toy.model)


def test_one_record_for_a_batch_norm_over_vectors():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    retain = torch.randn(5, 1, 1, 2), torch.tensor([0, 1, 0, 1, 0])
    method = Scrub(epochs=3, msteps=2, batch_size=2)
    outcome = method.run(model, (torch.randn(1, 1, 1, 2), torch.tensor([0])), retain)
    assert outcome.record.samples == method.reads(1, 5) == {"forget": 2 * 2, "retain": 3 * 6}


@pytest.mark.parametrize(
    ("errors", "target", "chosen"),
    [
        ([0.0, 10.0, 40.0, 90.0], 30.0, 2),  # distances 30, 20, 10, 60
        ([0.0, 10.0, 40.0, 90.0], 4.0, 0),  # the original is a legal choice
        ([0.0, 10.0, 40.0, 90.0], 100.0, 3),
        ([0.0, 80.0, 20.0, 60.0], 30.0, 2),  # not the first to cross the target
        ([0.0, 100.0, 100.0, 100.0], 100.0, 3),  # of equals the last
        ([0.0, 40.0, 20.0], 30.0, 2),
    ],
)
def test_nearest_by_hand(errors, target, chosen):
    assert rewind.nearest(errors, target) == chosen


@pytest.mark.parametrize(("target", "chosen"), [(35.0, 1), (75.0, 2), (50.0, 3)])
def test_rewinding_gives_back_the_network_of_that_epoch(toy, monkeypatch, target, chosen):
    errors = iter([0.0, 30.0, 80.0, 60.0])
    monkeypatch.setattr(rewind, "error", lambda model, part: target if part.name == "val" else next(errors))
    outcome = run(Scrub(**QUICK, epochs=3, rewind=True), toy)
    shorter = run(Scrub(**QUICK, epochs=chosen), toy)
    assert content(outcome.model) == content(shorter.model)
    made = {"rewound_to": chosen, "forget_errors": [0.0, 30.0, 80.0, 60.0], "target_error": target}
    assert made.items() <= outcome.record.choices.items()


def test_target_is_the_error_of_the_last_network(toy, monkeypatch):
    asked, error = [], rewind.error
    monkeypatch.setattr(
        rewind, "error", lambda model, part: asked.append((part.name, content(model))) or error(model, part)
    )
    run(Scrub(**QUICK, epochs=2, rewind=True), toy)
    last = content(run(Scrub(**QUICK, epochs=2), toy).model)
    assert asked == [
        ("forget", content(toy.model)),
        ("forget", content(run(Scrub(**QUICK, epochs=1), toy).model)),
        ("forget", last),
        ("val", last),
    ]


def test_rewinding_to_the_original_says_so(toy, monkeypatch):
    monkeypatch.setattr(
        rewind, "error", lambda model, part: 100.0 * (content(model) != content(toy.model)) * (part.name == "forget")
    )
    with pytest.raises(UnlearningFailed, match="no effect"):
        run(Scrub(**QUICK, rewind=True), toy)


def test_rewinding_without_never_seen_records_is_refused(toy):
    others = toy.split.val_set.where(toy.split.val_set.labels != 1)
    for val in (None, others):
        with pytest.raises(InputRefused, match="rewind=False"):
            run(Scrub(rewind=True), toy, val=val)
        run(Scrub(**QUICK), toy, val=val)


@pytest.mark.parametrize(
    ("request_", "classes"),
    [("class:b", {1}), ("class:a,c", {0, 2}), ("class:d@50%", {3}), ("random@50%", {0, 1, 2, 3})],
)
def test_never_seen_records_of_the_same_classes(toy, request_, classes):
    chosen = split(toy.data, request_)
    found = rewind.never_seen(SimpleNamespace(forget=chosen.forget_set, val=chosen.val_set))
    assert set(found.labels.tolist()) == classes
    assert len(found) == sum(int((chosen.val_set.labels == k).sum()) for k in classes)


def test_rewinding_after_a_kill_ends_in_the_same_bytes():
    quick = QUICK | {"epochs": 2, "rewind": True}
    check_killed_and_continued_ends_in_the_same_bytes(Case(cls=Scrub, quick=quick, judges=True))
