"""Identity: every tensor that was never changed, bit by bit, also inside a wrapper."""

import copy

import torch
from torch import nn

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
    assert (found.changed, found.numbers_same) == (("1.running_mean",), 628)
    assert not found.untouched and not found.last_layer_only


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
    assert identical(other.double(), original).numbers_same == 0
    assert identical(nn.Linear(2, 3), original).changed == ("weight", "bias")


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
