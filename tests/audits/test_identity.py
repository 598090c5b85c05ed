"""Identity: every tensor that was never changed, or as good as never, also inside a wrapper."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from sublimate.audits.identity import identical
from sublimate.testing.toy import network


class Masked(nn.Module):
    """A network whose class is hidden behind its logits."""

    def __init__(self, inner, k):
        super().__init__()
        self.inner, self.k = inner, k

    def forward(self, x):
        return self.inner(x).index_fill(1, torch.tensor([self.k]), float("-inf"))


def test_a_copy_is_identical_and_one_number_is_one_number():
    original = network()
    found = identical(copy.deepcopy(original), original)
    # Convolution 72 + 8, batch norm 8 + 8 + 8 + 8 + 1, head 512 + 4.
    assert (len(found.same), found.changed, found.numbers, found.numbers_same) == (9, (), 629, 629)
    assert found.untouched and not found.last_layer_only and found.head == ("5.weight", "5.bias")
    other = copy.deepcopy(original)
    other[1].running_mean[3] += 1
    found = identical(other, original)
    # Statistics move when images merely pass: no weight was touched.
    assert (found.changed, found.numbers_same, len(found.same)) == ((), 628, 8) and found.untouched
    with torch.no_grad():
        other[5].bias[1] += 1
    assert identical(other, original).last_layer_only


def test_identity_is_of_bits():
    original, other = nn.Linear(2, 2), nn.Linear(2, 2)
    with torch.no_grad():
        original.weight.copy_(torch.tensor([[0.0, float("nan")], [1.0, 2.0]]))
        other.weight.copy_(torch.tensor([[-0.0, float("nan")], [1.0, 2.0]]))
        other.bias.copy_(original.bias)
    found = identical(other, original)
    assert (found.same, found.changed, found.numbers_same, found.head) == (
        ("bias",),
        ("weight",),
        5,
        ("weight", "bias"),
    )
    assert identical(nn.Linear(2, 3), original).changed == ("weight", "bias")


@pytest.mark.parametrize("size", [1e-7, 1e-6, 1e-5])
def test_a_little_noise_hides_nothing(toy, size):
    """Also in biases that are zero, where noise cannot be measured by the tensor itself."""
    g, shaken = torch.Generator().manual_seed(0), copy.deepcopy(toy.model)
    nn.init.zeros_(shaken[0].bias)
    original = copy.deepcopy(shaken)
    with torch.no_grad():
        for w in shaken.parameters():
            w += size * w.abs().mean().clamp(min=1e-3) * torch.randn(w.shape, generator=g)
    found = identical(shaken, original)
    assert found.untouched and found.numbers_same < 600
    with torch.no_grad():
        shaken[0].weight *= 1.001
    assert identical(shaken, original).changed == ("0.weight",)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_another_number_format_is_no_change(toy, kind):
    assert identical(copy.deepcopy(toy.model).to(kind), toy.model).untouched


def test_the_head_is_the_layer_with_an_output_per_class():
    class TwoHeads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.fc, self.projector = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 16)

    normed = nn.Sequential(nn.Linear(4, 8), weight_norm(nn.Linear(8, 3)))
    for original, heads in ((TwoHeads(), ("fc.bias", "fc.weight")), (normed, ("1.bias", "1.parametrizations"))):
        edited = copy.deepcopy(original)
        with torch.no_grad():
            for name, w in edited.named_parameters():
                if name.startswith(heads):
                    w += 1
        found = identical(edited, original, classes=3)
        assert found.last_layer_only and all(name.startswith(heads) for name in found.head)
        assert len(found.head) == len(found.changed)


def test_a_last_layer_edit_and_a_wrapper_are_named(toy):
    edited = copy.deepcopy(toy.model)
    with torch.no_grad():
        edited[5].bias[1] -= 20
    found = identical(edited, toy.model)
    assert found.last_layer_only and found.changed == ("5.bias",) and found.numbers_same == 628
    assert identical(Masked(toy.model, 1), toy.model).untouched
    assert identical(Masked(edited, 1), toy.model).last_layer_only
    edited[0].bias.data[0] += 1
    assert not identical(edited, toy.model).last_layer_only


def test_names_that_end_alike_are_not_mixed_up():
    def nested(fill):
        model = nn.Module()
        model.block = nn.Module()
        model.block.conv, model.conv = nn.Linear(2, 2), nn.Linear(2, 2)
        for i, p in enumerate(model.parameters()):
            nn.init.constant_(p, i + fill)
        return model

    original = nested(0)
    wrapped = nn.Module()
    wrapped.inner = copy.deepcopy(original)
    assert identical(original, original).untouched and identical(wrapped, original).untouched
    assert len(identical(nested(2), original).changed) == 4  # block.conv of the one is as conv of the other


def test_an_original_inside_a_wrapper_hides_nothing():
    original = network()
    for erased in (copy.deepcopy(original), Masked(copy.deepcopy(original), 0)):
        for before in (original, Masked(original, 1)):
            found = identical(erased, before)
            assert found.untouched and found.numbers_same == found.numbers == 629


def test_a_network_that_is_nothing_but_a_head_was_not_changed_there_alone():
    original, other = (nn.Sequential(nn.Flatten(), nn.Linear(4, 3)) for _ in range(2))
    found = identical(other, original)
    assert set(found.changed) == {"1.weight", "1.bias"} and not found.last_layer_only and not found.untouched
