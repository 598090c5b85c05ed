"""Bad teaching: values worked out by hand, a slow reference, two teachers that stay."""

import copy
import math

import pytest
import torch
from torch import nn

from sublimate.splits import split
from sublimate.testing.world import Watch, content
from sublimate.unlearn.badt import BadT, kl
from sublimate.unlearn.job import Job

# Softmaxes (3/4, 1/4) against (1/2, 1/2): 3/4·ln(3/2) + 1/4·ln(1/2) = 0.3040988 − 0.1732868 = 0.1308120
# The other way about:                     1/2·ln(2/3) + 1/2·ln 2     = −0.2027326 + 0.3465736 = 0.1438410
# Equal ones: 0.  The mean of the three is 0.2746530/3 = 0.0915510.
LN3 = math.log(3)
T = torch.tensor([[LN3, 0.0], [0.0, 0.0], [1.0, 2.0]])
S = torch.tensor([[0.0, 0.0], [LN3, 0.0], [1.0, 2.0]])


def linear(weight):
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    model[1].weight.data = torch.tensor(weight)
    return model


def images(*rows):
    return torch.tensor(rows, dtype=torch.float32).view(-1, 1, 1, 2)


def mlp(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3))


def test_kl_by_hand():
    assert kl(T, S).item() == pytest.approx(0.0915510, abs=1e-6)
    assert kl(2 * T, 2 * S, tau=2.0).item() == pytest.approx(0.0915510, abs=1e-6)


def test_elements_is_batch_over_k():
    assert kl(T, S, reduction="elements").item() == pytest.approx(0.0915510 / 2, abs=1e-6)
    t, s = torch.randn(2, 6, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert (7 * kl(t, s, 2.0, "elements")).item() == pytest.approx(kl(t, s, 2.0).item(), rel=1e-12)
    q, p = (t / 2).softmax(1), (s / 2).softmax(1)
    assert kl(t, s, 2.0, "elements").item() == pytest.approx((q * (q / p).log()).mean().item(), rel=1e-12)


def test_a_teacher_without_doubt_has_a_finite_gradient():
    t = torch.tensor([[0.0, 300.0]], requires_grad=True)
    kl(t, torch.zeros(1, 2)).backward()
    assert bool(torch.isfinite(t.grad).all())


def test_first_update_by_hand():
    # Forgotten: x = (1, 0), logits (ln 3, 0), softmax (3/4, 1/4); the bad teacher is all nil and says (1/2, 1/2).
    # Retained: two records (0, 1), where student and original agree: KL 0, no gradient.
    # Loss 0.1438410/3 = 0.0479470.  Gradient of W at x = (1, 0): (3/4 − 1/2, 1/4 − 1/2)/3 = (+1/12, −1/12).
    # Adam's first step is lr against the sign of the gradient: ln 3 − 0.1 and 0 + 0.1; the other column stays.
    model = linear([[LN3, 0.0], [0.0, 0.0]])
    outcome = BadT(lr=0.1, epochs=1, batch_size=3, share=1.0, views="none").run(
        model,
        (images((1, 0)), torch.tensor([0])),
        (images((0, 1), (0, 1)), torch.tensor([0, 1])),
        factory=lambda: linear([[0.0, 0.0], [0.0, 0.0]]),
    )
    assert outcome.record.losses == [{"kl": pytest.approx(0.0479470, abs=1e-6)}]
    weight = outcome.model[1].weight
    assert weight.flatten().tolist() == pytest.approx([LN3 - 0.1, 0.0, 0.1, 0.0], abs=1e-6)


@pytest.mark.parametrize("reduction", ["batch", "elements"])
def test_three_updates_are_a_plain_loop(reduction):
    model, bad = mlp(0), mlp(1)
    g = torch.Generator().manual_seed(2)
    forget, retain = torch.randn(3, 1, 1, 2, generator=g), torch.randn(5, 1, 1, 2, generator=g)
    labels = torch.tensor([0, 0, 0]), torch.tensor([1, 2, 1, 2, 1])
    found = BadT(lr=0.01, epochs=3, batch_size=8, share=1.0, tau=2.0, reduction=reduction, views="none").unlearn(
        model, (forget, labels[0]), (retain, labels[1]), factory=lambda: copy.deepcopy(bad)
    )
    student = copy.deepcopy(model)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(3):
        loss = torch.zeros(())
        for x, u in [(x, 1.0) for x in forget] + [(x, 0.0) for x in retain]:
            q = u * (bad(x[None]) / 2).softmax(1) + (1 - u) * (model(x[None]) / 2).softmax(1)
            p = (student(x[None]) / 2).softmax(1)
            loss = loss + (q.detach() * (q.detach().log() - p.log())).sum() / 8
        optimizer.zero_grad()
        (loss / (3 if reduction == "elements" else 1)).backward()
        optimizer.step()
    for mine, theirs in zip(found.parameters(), student.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=0)


def test_teachers_stay_and_the_student_changes(toy, monkeypatch):
    teachers = []
    for name in ("teacher", "fresh"):
        made = getattr(Job, name)

        def watched(self, *place, made=made):
            teachers.append(made(self, *place))
            teachers.append(content(teachers[-1]))
            return teachers[-2]

        monkeypatch.setattr(Job, name, watched)
    s = toy.split
    erased = BadT(lr=0.01, batch_size=16).unlearn(toy.model, s.forget_set, s.few_set, ratios=s.ratios)
    (competent, as_made), (incompetent, as_drawn) = teachers[:2], teachers[2:]
    assert content(competent) == as_made == content(toy.model)
    assert content(incompetent) == as_drawn != as_made
    assert content(erased) != as_made


@pytest.mark.parametrize("share", [0.3, 1.0, 1e-6])
def test_a_share_of_the_retained_records_drawn_once(toy, share):
    def read(seed):
        watch = Watch(toy.data)
        s = split(watch.data, "class:b", few=60)
        BadT(lr=0.01, epochs=3, share=share, seed=seed).unlearn(toy.model, s.forget_set, s.few_set, ratios=s.ratios)
        watch.batched[int(s.few[0])] -= 1  # read to see whether the network takes it
        return {row for row in s.few.tolist() if watch.batched[row]}, {watch.batched[r] for r in s.few.tolist()} - {0}

    rows, times = read(0)
    assert len(rows) == BadT(share=share).kept(60) == {0.3: 18, 1.0: 60, 1e-6: 1}[share]
    assert times == {3}  # once per epoch
    assert (read(1)[0] != rows) == (share < 1)
