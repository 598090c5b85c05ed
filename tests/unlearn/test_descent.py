"""Finetune, l1-sparse, NegGrad and NegGrad+: losses and updates worked by hand, and against plain loops."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sublimate.errors import InputRefused, UnlearningFailed
from sublimate.unlearn.finetune import Finetune
from sublimate.unlearn.l1_sparse import L1Sparse, l1, strength
from sublimate.unlearn.neggrad import NegGrad, capped
from sublimate.unlearn.neggrad_plus import NegGradPlus

LN2 = 0.6931472
# Three records, two classes, z = W·x without a bias.  Retained: (1, 0) of class 0 and (0, 1) of class 1.
# Forgotten: (2, 1) of class 0.
RETAIN = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).view(2, 1, 1, 2), torch.tensor([0, 1])
FORGET = torch.tensor([[2.0, 1.0]]).view(1, 1, 1, 2), torch.tensor([0])
ONE_STEP = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0, "epochs": 1, "views": "none"}


def linear(W):
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    model[1].weight.data = torch.tensor(W)
    return model


def erased(method, W, forget=FORGET, retain=RETAIN):
    outcome = method.run(linear(W), forget, retain, ratios=[0.5, 0.0])
    return outcome.model[1].weight.detach(), outcome.record


def close(found, expected):
    assert torch.allclose(found, torch.tensor(expected), rtol=0, atol=1e-6), found


NIL = [[0.0, 0.0], [0.0, 0.0]]
# At W = 0 both classes have p = ½, so the gradient of CE is (p − e_y)·xᵀ: for the retained records
# (−½, ½)·(1, 0) and (½, −½)·(0, 1), in the mean  row 0: (−¼, ¼), row 1: (¼, −¼);
# for the forgotten one (−½, ½)·(2, 1)         =  row 0: (−1, −½), row 1: (1, ½).


def test_finetune_by_hand():
    # W = −0.1·gradient of the retained records
    W, record = erased(Finetune(**ONE_STEP), NIL)
    close(W, [[0.025, -0.025], [-0.025, 0.025]])
    assert record.losses == [{"ce": pytest.approx(LN2, abs=1e-6)}]
    assert record.samples == {"retain": 2}


def test_finetune_three_steps_with_momentum_and_decay_by_a_plain_loop():
    lr, momentum, decay = 0.1, 0.9, 0.05
    start = [[0.5, -1.0], [0.25, 0.75]]
    w, v = [row[:] for row in start], [[0.0, 0.0], [0.0, 0.0]]
    for _ in range(3):
        g = [[0.0, 0.0], [0.0, 0.0]]
        for x, y in (([1.0, 0.0], 0), ([0.0, 1.0], 1)):
            z = [sum(w[k][j] * x[j] for j in range(2)) for k in range(2)]
            p = [math.exp(z[k]) / (math.exp(z[0]) + math.exp(z[1])) for k in range(2)]
            for k in range(2):
                for j in range(2):
                    g[k][j] += (p[k] - (k == y)) * x[j] / 2
        for k in range(2):
            for j in range(2):
                v[k][j] = momentum * v[k][j] + g[k][j] + decay * w[k][j]
                w[k][j] -= lr * v[k][j]
    method = Finetune(lr=lr, momentum=momentum, weight_decay=decay, epochs=3, views="none")
    close(erased(method, start)[0], w)


def test_finetune_with_cosine_by_hand():
    # Two epochs: the factors are 1 and (1 + cos π/2)/2 = ½.  At W = 0 all gradients are as above; after the first step
    # z of each retained record differs by 0.05, p of the wrong class is 1/(1 + e^0.05) = 0.4875026, so the mean
    # gradient is 0.2437513 in place of ¼, and the second step is 0.05·0.2437513 = 0.0121876.
    W, _ = erased(Finetune(**ONE_STEP | {"epochs": 2, "schedule": "cosine"}), NIL)
    close(W, [[0.0371876, -0.0371876], [-0.0371876, 0.0371876]])


@pytest.mark.parametrize(
    ("T", "T_no", "expected"),
    [(5, 2, [0.3, 0.2, 0.1, 0.0, 0.0]), (4, 0, [0.3, 0.225, 0.15, 0.075]), (2, 2, [0.0, 0.0]), (2, 3, [0.0, 0.0])],
)
def test_gamma_by_hand(T, T_no, expected):
    assert [strength(0.3, t, T, T_no) for t in range(T)] == pytest.approx(expected, abs=1e-12)


def test_gamma_in_a_run_changes_with_the_epoch():
    # Two batches of one record (filled up to two rows) make an epoch; T = 3, T_no = 1: γ, γ, γ/2, γ/2, 0, 0.
    few = {"lr": 1e-3, "epochs": 3, "no_l1_epochs": 1, "gamma": 0.1, "batch_size": 1, "weight_decay": 0.0}
    start = [[4.0, -2.0], [1.0, 3.0]]  # ‖W‖₁ = 10, and nearly so for the whole short run
    _, record = erased(L1Sparse(**few, views="none"), start)
    penalties = [losses["l1"] for losses in record.losses]
    assert penalties == pytest.approx([1.0, 1.0, 0.5, 0.5, 0.0, 0.0], abs=0.01)
    assert penalties[4:] == [0.0, 0.0]


def test_subgradient_of_l1_by_hand():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[0].weight.data = torch.tensor([[0.5, -0.25], [0.0, 1.0]])
    model[0].bias.data = torch.tensor([3.0, -4.0])
    found = l1(model, "weights")
    assert found.item() == 1.75
    found.backward()
    assert torch.equal(model[0].weight.grad, torch.tensor([[1.0, -1.0], [0.0, 1.0]]))
    assert model[0].bias.grad is None and model[1].weight.grad is None
    # all: 1.75, the bias 3 + 4, the scale 1 + 1, the shift 0
    assert l1(model, "all").item() == 10.75
    model[0].weight.requires_grad_(False)
    assert l1(model, "all").item() == 9.0
    assert l1(model, "weights").item() == 0.0


def test_l1_sparse_by_hand():
    # Equal rows give p = ½, so the gradient of CE is as at W = 0; γ·sign(W) = 0.3·((1, −1), (1, −1)).
    # Sum: ((0.05, −0.05), (0.55, −0.55)); times 0.1, from W.   ‖W‖₁ = 1.5, so the penalty is 0.45.
    method = L1Sparse(**ONE_STEP, gamma=0.3, no_l1_epochs=0)
    W, record = erased(method, [[0.5, -0.25], [0.5, -0.25]])
    close(W, [[0.495, -0.245], [0.445, -0.195]])
    assert record.losses == [{"ce": pytest.approx(LN2, abs=1e-6), "l1": pytest.approx(0.45, abs=1e-6)}]


def test_l1_sparse_without_penalty_is_finetune():
    start, shared = [[0.5, -1.0], [0.25, 0.75]], {"epochs": 3, "batch_size": 1, "views": "none"}
    silent = L1Sparse(**shared, no_l1_epochs=3)
    assert torch.equal(erased(silent, start)[0], erased(Finetune(**shared), start)[0])


def test_cap_by_hand_and_no_gradient_beyond():
    # CE((0, 9), 0) = 9 + ln(1 + e⁻⁹) = 9.0001234, capped at ln 2 + 1 = 1.6931472; CE((0, 0), 0) = ln 2 stays.
    z, y = torch.tensor([[0.0, 9.0], [0.0, 0.0]], requires_grad=True), torch.tensor([0, 0])
    loss = capped(z, y, margin=1.0)
    assert loss.item() == pytest.approx((1.6931472 + LN2) / 2, abs=1e-6)
    loss.backward()
    assert torch.equal(z.grad, torch.tensor([[0.0, 0.0], [-0.25, 0.25]]))  # (p − e_y)/2 for the second alone
    assert capped(z, y, margin=None).item() == pytest.approx((9.0001234 + LN2) / 2, abs=1e-6)


def test_neggrad_by_hand():
    # W = +0.1·gradient of the forgotten record
    W, record = erased(NegGrad(**ONE_STEP), NIL)
    close(W, [[-0.1, -0.05], [0.1, 0.05]])
    assert record.losses == [{"ascent": pytest.approx(-LN2, abs=1e-6)}]
    assert record.samples == {"forget": 2}  # one record, filled up to two rows


def test_neggrad_rests_beyond_the_cap():
    # z = (0, 5): CE = 5.0067 > ln 2 + 1, so nothing moves; a margin of 5 lets it go on.
    start = [[0.0, 0.0], [2.0, 1.0]]
    with pytest.raises(UnlearningFailed, match="no effect") as failure:
        NegGrad(**ONE_STEP).run(linear(start), FORGET, RETAIN, ratios=[0.5, 0.0])
    assert torch.equal(failure.value.model[1].weight, torch.tensor(start))
    assert not torch.equal(erased(NegGrad(**ONE_STEP, margin=5.0), start)[0], torch.tensor(start))


MANY = torch.randn(12, 1, 1, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1] * 6)


def slow(W, epochs, lr, loss):
    """Plain gradient steps on all records at once."""
    w = torch.tensor(W, requires_grad=True)
    for _ in range(epochs):
        (g,) = torch.autograd.grad(loss(w), w)
        w = (w - lr * g).detach().requires_grad_(True)
    return w.tolist()


def ce(w, records):
    x, y = records
    return F.cross_entropy(x.flatten(1) @ w.T, y, reduction="none")


def test_neggrad_by_a_plain_loop():
    def loss(w):
        terms = ce(w, MANY)
        return -sum(t if t < LN2 + 0.1 else 0 * t for t in terms) / len(terms)  # several are beyond this cap

    start = [[0.5, -1.0], [0.25, 0.75]]
    method = NegGrad(**ONE_STEP | {"epochs": 4, "margin": 0.1})
    close(erased(method, start, forget=MANY)[0], slow(start, 4, 0.1, loss))


def test_neggrad_plus_by_hand():
    # ¾·((−¼, ¼), (¼, −¼)) − ¼·((−1, −½), (1, ½)) = ((0.0625, 0.3125), (−0.0625, −0.3125)), times −0.1
    W, record = erased(NegGradPlus(**ONE_STEP, alpha=0.75), NIL)
    close(W, [[-0.00625, -0.03125], [0.00625, 0.03125]])
    assert record.losses == [
        {"ce retain": pytest.approx(0.75 * LN2, abs=1e-6), "ascent": pytest.approx(-0.25 * LN2, abs=1e-6)}
    ]
    assert record.samples == {"forget": 1, "retain": 2}


@pytest.mark.parametrize("forget_is_longer", [False, True])
def test_neggrad_plus_by_a_plain_loop(forget_is_longer):
    forget, retain = (MANY, RETAIN) if forget_is_longer else (FORGET, MANY)

    def loss(w):
        return 0.8 * ce(w, retain).mean() - 0.2 * ce(w, forget).clamp(max=LN2 + 1).mean()

    start = [[0.5, -1.0], [0.25, 0.75]]
    method = NegGradPlus(**ONE_STEP | {"epochs": 4, "alpha": 0.8})
    W, record = erased(method, start, forget, retain)
    close(W, slow(start, 4, 0.1, loss))
    assert record.samples == method.reads(len(forget[1]), len(retain[1]))
    assert record.samples == {"forget": 4 * len(forget[1]), "retain": 4 * len(retain[1])}


def test_neggrad_plus_goes_round_the_shorter_part():
    # 12 retained in batches of 5: 3 batches and 12 rows; each brings a batch of 2 of the forgotten.
    assert NegGradPlus(epochs=1, batch_size=5).reads(forget=2, retain=12) == {"forget": 6, "retain": 12}
    assert NegGradPlus(epochs=1, batch_size=5).reads(forget=12, retain=2) == {"forget": 12, "retain": 6}


def test_alpha_is_a_share():
    with pytest.raises(InputRefused, match="alpha cannot be 1"):
        NegGradPlus(alpha=1.0)


@pytest.mark.parametrize("method", [Finetune, L1Sparse, NegGrad, NegGradPlus])
def test_a_single_row_passes_a_batch_norm_over_vectors(method):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    unlearner = method(norm="train", batch_size=11, lr=0.1, views="none")  # 12 = 11 + 1
    outcome = unlearner.run(model, FORGET, MANY, ratios=[0.1, 0.0])
    assert outcome.record.samples == unlearner.reads(1, 12)
