"""Gated knowledge transfer: values worked out by hand, a slow reference, the gate row by row."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.loop import Loop
from sublimate.splits import split
from sublimate.testing.world import Watch, content
from sublimate.unlearn.gkt import Gkt
from sublimate.unlearn.job import Job
from sublimate.unlearn.transfer import Gate, attention, distance, generator, stages

QUICK = {"iterations": 3, "n_s": 2, "batch_size": 16, "z": 8, "epsilon": 0.3}


def job_of(toy, model=None, **extra):
    s = toy.split
    return Job(
        model=copy.deepcopy(model or toy.model),
        original=model or toy.model,
        forget=s.forget_set,
        retain=s.few_set,
        val=None,
        ratios=s.ratios,
        seed=0,
        device=torch.device("cpu"),
        **extra,
    )


def constant(bias):
    """A network that answers the same for every image."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    model[1].weight.data.zero_()
    model[1].bias.data = torch.tensor(bias)
    return model


def test_first_iteration_by_hand():
    # The teacher says (1/4, 3/4) of every image, the new student (1/2, 1/2), and class 0 is forgotten: 1/4 ≤ ε = 0.3.
    # KL 1/4·ln(1/2) + 3/4·ln(3/2) = −0.1732868 + 0.3040988 = 0.1308120; G goes up it.  No convolution, no attention.
    # Gradient of the student's bias: p_S − p_T = (+1/4, −1/4); Adam's first step is lr against its sign.
    x = torch.zeros(3, 1, 2, 2)
    outcome = Gkt(lr=0.01, iterations=1, n_s=1, batch_size=8, z=4, epsilon=0.3).run(
        constant([0.0, math.log(3)]),
        (x[:1], torch.tensor([0])),
        (x[1:], torch.tensor([1, 1])),
        factory=lambda: constant([0.0, 0.0]),
    )
    (seen,) = outcome.record.losses
    assert seen["generator"] == pytest.approx(-0.1308120, abs=1e-6)
    assert seen["kl"] == pytest.approx(0.1308120, abs=1e-6)
    assert seen["attention"] == 0.0
    assert outcome.model[1].bias.tolist() == pytest.approx([-0.01, 0.01], abs=1e-6)


def test_attention_by_hand():
    # Two channels over two pixels, (1, 2) and (1, 0): mean squares (1, 2), of length 1: (1, 2)/√5.
    # Against (2, 1)/√5: differences ±1/√5, mean square 1/5.
    network = nn.Sequential(nn.Conv2d(2, 2, 1, bias=False))
    network[0].weight.data = torch.eye(2).view(2, 2, 1, 1)
    x = torch.tensor([[[[1.0, 2.0]], [[1.0, 0.0]]]])
    with attention(network) as one, attention(network) as other:
        network(x)
    assert one[0][0].tolist() == pytest.approx([1 / math.sqrt(5), 2 / math.sqrt(5)], abs=1e-6)
    assert distance(one, [other[0].flip(1)], x).item() == pytest.approx(0.2, abs=1e-6)
    assert distance([*one, *one], [other[0].flip(1)] * 2, x).item() == pytest.approx(0.4, abs=1e-6)
    assert distance([], [], x).item() == 0.0


def test_hooks_are_gone_after_an_exception():
    network = nn.Sequential(nn.Conv2d(1, 1, 3))
    with pytest.raises(RuntimeError), attention(network):
        network(torch.zeros(1, 5, 8, 8))
    assert not network[0]._forward_hooks


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(1, 1, 1), nn.ModuleList([nn.Conv2d(1, 1, 1), nn.Conv2d(1, 1, 1)])


def test_stages():
    block = nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), nn.Conv2d(1, 1, 1))
    residual = nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), block, nn.Flatten(), nn.Linear(1, 2))
    assert stages(residual) == [residual[0], block]
    assert stages(nn.Sequential(block, nn.Flatten(), nn.Linear(1, 2))) == [block[0], block[2]]
    assert stages(nn.Sequential(nn.Flatten(), nn.Linear(1, 2))) == []
    listed = Listed()
    assert stages(listed) == [listed.stem, *listed.blocks]


def test_the_gate_keeps_exactly_the_right_rows():
    p = torch.tensor(
        [
            [0.004, 0.005, 0.991],  # together .009
            [0.006, 0.005, 0.989],  # each below .01, together .011
            [0.000, 0.990, 0.010],
            [0.010, 0.990, 0.000],
            [0.001, 0.001, 0.998],
        ]
    )
    gate = Gate(torch.tensor([0, 1]), 0.01)
    assert gate(p.log()).tolist() == [True, False, False, False, True]
    assert int(gate.passed) == 2
    assert Gate(torch.tensor([1]), 0.5)(torch.zeros(1, 2)).tolist() == [True]  # equality passes


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 32, 32), (3, 33, 17), (2, 1, 5), (4, 100, 64)])
def test_images_of_any_shape(shape):
    x = generator(8, *shape)(torch.randn(4, 8))
    assert x.shape == (4, *shape)
    assert float(x.detach().mean()) == pytest.approx(0.0, abs=1e-4)


def test_each_step_moves_only_its_own_network(toy):
    job = job_of(toy)
    phase = next(Gkt(**QUICK).phases(job))
    differ, imitate = phase.steps[0], phase.steps[-1]
    G = phase.modules["generator"]
    for step, moves, rests in ((differ, G, job.model), (imitate, job.model, G)):
        phase.optimizer.zero_grad(set_to_none=True)
        sum(step(phase.over.at(0)).values()).backward()
        assert all(p.grad is not None for p in moves.parameters())
        assert all(p.grad is None for p in rests.parameters())


@pytest.fixture
def double():
    """In single precision Adam makes a step of a gradient that is nil but for rounding, and two sums round apart."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_iterations_are_a_plain_loop(toy, double):
    method = Gkt(lr=0.01, iterations=3, n_g=2, n_s=3, batch_size=16, z=8, beta=5.0, epsilon=0.3, clip=0.5)
    job = job_of(toy, copy.deepcopy(toy.model).double())
    phase = next(method.phases(job))
    S, G, T = copy.deepcopy(job.model), copy.deepcopy(phase.modules["generator"]), job.teacher()
    assert content(S) != content(T)
    Loop(job.model.train(), 0, job.meter).run([phase])

    def kl(t, s):
        q, p = t.softmax(1), s.softmax(1)
        return (q * (q.log() - p.log())).sum(1).mean()

    def look(network, x):  # the only convolution is the first layer
        a = network[0](x).pow(2).sum(1).flatten(1)
        return a / a.norm(dim=1, keepdim=True)

    S.train()
    refused = 0
    g_optimizer, s_optimizer = (torch.optim.Adam(network.parameters(), lr=0.01) for network in (G, S))
    for t in range(3):
        z = torch.randn(16, 8, generator=job.stream("z", t))
        for network, optimizer in 2 * [(G, g_optimizer)] + 3 * [(S, s_optimizer)]:
            x = G(z)
            x = x[T(x).softmax(1)[:, 1] <= 0.3]
            assert len(x) >= 2
            refused += 16 - len(x)
            if network is G:
                loss = -kl(T(x), S(x))
            else:
                x = x.detach()
                loss = kl(T(x).detach(), S(x)) + 5.0 * F.mse_loss(look(S, x), look(T, x).detach())
            S.zero_grad()
            G.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()
    assert refused
    for mine, theirs in zip(job.model.parameters(), S.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-8, rtol=0)


def test_the_teacher_stays_and_no_record_is_read(toy, monkeypatch):
    made, teachers = Job.teacher, []
    monkeypatch.setattr(Job, "teacher", lambda job: teachers.append(made(job)) or teachers[-1])
    watch = Watch(toy.data)
    s = split(watch.data, "class:b", few=60)
    outcome = Gkt(**QUICK).run(toy.model, s.forget_set, s.few_set, ratios=s.ratios)
    assert [content(teacher) for teacher in teachers] == [content(toy.model)]
    assert content(outcome.model) != content(toy.model)
    assert outcome.record.samples == {} == Gkt(**QUICK).reads(60, 60)
    assert dict(watch.batched) == {int(s.forget[0]): 1, int(s.few[0]): 1}  # the checks: does the network take it?


def test_a_gate_that_never_opens_is_a_failure(toy):
    s = toy.split
    with pytest.raises(UnlearningFailed, match="gate"):
        Gkt(**QUICK | {"epsilon": 1e-30}).unlearn(toy.model, s.forget_set, s.few_set, ratios=s.ratios)


def test_a_single_image_rests():
    # One image in a batch: it may pass the gate, but a batch norm could not take it.
    x = torch.zeros(3, 1, 2, 2)
    outcome = Gkt(iterations=2, batch_size=1, z=4, epsilon=0.3).run(
        constant([0.0, math.log(3)]),
        (x[:1], torch.tensor([0])),
        (x[1:], torch.tensor([1, 1])),
        factory=lambda: constant([0.0, 0.0]),
    )
    assert outcome.record.losses == [{}, {}]


def test_only_whole_classes(toy):
    chosen = split(toy.data, "class:b@50%", few=60)
    with pytest.raises(InputRefused, match="whole classes"):
        Gkt(**QUICK).unlearn(toy.model, chosen.forget_set, chosen.few_set, ratios=chosen.ratios)
