"""Each signal by hand, higher for the training record, and finite where the softmax saturates."""

import math

import pytest
import torch

from sublimate.audits.signals import (
    SIGNALS,
    margin,
    negative_entropy,
    negative_loss,
    negative_modified_entropy,
    view_agreement,
)

FIRST = torch.tensor([0])


def logits_of(*probabilities):
    return torch.tensor([probabilities], dtype=torch.double).log()


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_loss_and_entropy_by_hand():
    z = torch.cat([logits_of(0.5, 0.25, 0.25)] * 2) + 3
    assert negative_loss(z, torch.tensor([0, 1])).tolist() == pytest.approx([math.log(0.5), math.log(0.25)])
    # ½ ln 2 + 2 · ¼ ln 4 = 1.0397208
    assert negative_entropy(z, torch.tensor([0, 1])).tolist() == pytest.approx([-1.0397208, -1.0397208], abs=1e-7)


def test_loss_keeps_its_order_where_the_probability_rounds_to_one():
    found = negative_loss(torch.tensor([[50.0, 0.0], [60.0, 0.0], [-50.0, 0.0]]), torch.tensor([0, 0, 0]))
    # −log(1 + e⁻⁵⁰) = −e⁻⁵⁰
    assert found.tolist() == pytest.approx([-math.exp(-50), -math.exp(-60), -50.0], rel=1e-12)


def test_margin_by_hand():
    z = torch.tensor([[1.0, 4.0, 2.0], [1.0, 4.0, 2.0], [-3.0, -5.0, -9.0]])
    assert margin(z, torch.tensor([1, 0, 1])).tolist() == [2.0, -3.0, -2.0]
    assert margin(z, torch.tensor([1, 0, 1])).dtype == torch.double


def test_modified_entropy_by_hand():
    # p = (.5, .3, .2), y = 0: −.5 ln .5 − .3 ln .7 − .2 ln .8 = 0.3465736 + 0.1070025 + 0.0446287
    assert negative_modified_entropy(logits_of(0.5, 0.3, 0.2), FIRST).item() == pytest.approx(-0.4982048, abs=1e-7)
    # y = 2: −.8 ln .2 − .5 ln .5 − .3 ln .7 = 1.2875503 + 0.3465736 + 0.1070025
    assert negative_modified_entropy(logits_of(0.5, 0.3, 0.2), torch.tensor([2])).item() == pytest.approx(
        -1.7411264, abs=1e-7
    )


def test_modified_entropy_of_many_against_the_formula():
    z = torch.randn(50, 7, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    y = torch.arange(50) % 7
    for p, label, found in zip(
        z.softmax(1).tolist(), y.tolist(), negative_modified_entropy(z, y).tolist(), strict=True
    ):
        others = sum(q * math.log(1 - q) for i, q in enumerate(p) if i != label)
        assert found == pytest.approx((1 - p[label]) * math.log(p[label]) + others, rel=1e-10)


def test_modified_entropy_rises_with_the_label_and_falls_with_others():
    z = torch.randn(40, 5, generator=torch.Generator().manual_seed(1), dtype=torch.double).requires_grad_()
    labels = torch.arange(40) % 5
    negative_modified_entropy(z, labels).sum().backward()
    assert bool((z.grad.gather(1, labels[:, None]) > 0).all())


def test_modified_entropy_is_finite_when_saturated():
    z = torch.tensor([[900.0, 0.0, 0.0], [0.0, 900.0, 0.0]])
    # sure and right: nothing; sure and wrong: log p_y = −900 and log(1 − p₁) = ln 2 − 900
    assert negative_modified_entropy(z, torch.tensor([0, 0])).tolist() == pytest.approx([0.0, math.log(2) - 1800])


def test_agreement_by_hand():
    p, q = (0.5, 0.3, 0.2), (0.2, 0.2, 0.6)
    found = view_agreement(logits_of(*p) + 5, logits_of(*q))
    assert found.item() == pytest.approx(-(kl(p, q) + kl(q, p)) / 2, rel=1e-12)
    assert torch.equal(view_agreement(logits_of(*q), logits_of(*p) + 5), found)


def test_agreement_of_a_record_with_itself_is_the_highest():
    z = torch.randn(20, 10, generator=torch.Generator().manual_seed(2))
    assert view_agreement(z, z).tolist() == [0.0] * 20
    assert bool((view_agreement(z, z.flip(0)) < 0).all())


def test_agreement_is_finite_when_saturated():
    found = view_agreement(torch.tensor([[900.0, 0.0]]), torch.tensor([[0.0, 900.0]]))
    assert found.tolist() == [-900.0]  # ½ (1 · 900 + 1 · 900)


@pytest.mark.parametrize("name", SIGNALS)
def test_more_certain_of_the_label_is_higher(name):
    z = torch.tensor([[0.1, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0], [30.0, 0.0, 0.0]])
    found = SIGNALS[name](z, torch.zeros(4, dtype=torch.long))
    assert found.shape == (4,) and found.dtype == torch.double
    assert found.tolist() == sorted(set(found.tolist()))


@pytest.mark.parametrize("name", SIGNALS)
def test_finite_and_double_for_extreme_outputs(name):
    z = torch.tensor([[3e4, -3e4, 0.0], [-3e4, 3e4, 0.0], [0.0, 0.0, 0.0]])
    assert bool(SIGNALS[name](z, torch.tensor([0, 0, 0])).isfinite().all())
    assert torch.equal(z, torch.tensor([[3e4, -3e4, 0.0], [-3e4, 3e4, 0.0], [0.0, 0.0, 0.0]]))


def test_the_table():
    assert list(SIGNALS) == ["confidence", "loss", "entropy", "margin", "modified entropy"]
