"""Logits are found where networks put them, and what is none is named."""

from collections import OrderedDict, namedtuple
from types import SimpleNamespace

import pytest
import torch

from sublimate.errors import InputRefused
from sublimate.models.outputs import logits

Z = torch.randn(2, 3)
Inception = namedtuple("Inception", ["logits", "aux"])


@pytest.mark.parametrize(
    "output",
    [
        Z,
        SimpleNamespace(logits=Z, loss=None),
        {"logits": Z},
        OrderedDict(loss=torch.tensor(0.0), logits=Z),
        (Z, torch.zeros(2, 9)),
        [Z],
        (SimpleNamespace(logits=Z), 1),
        ({"logits": Z},),
        Inception(Z, torch.zeros(2, 9)),
        SimpleNamespace(logits=(Z,)),
    ],
)
def test_logits_are_found(output):
    assert logits(output) is Z


@pytest.mark.parametrize(
    ("output", "named"),
    [
        (torch.zeros(2, 1), "a regression or one-logit head"),
        (torch.zeros(2), "a regression head or class numbers"),
        (torch.tensor(0.5), "a loss"),
        (torch.zeros(2, 7, 30), "a sequence of tokens"),
        (torch.zeros(2, 21, 8, 8), "a segmentation output"),
        (torch.zeros(2, 3, dtype=torch.long), "class numbers"),
        ({"out": torch.zeros(2, 21, 8, 8)}, "dict with 'out'"),
        ([], "a list"),
        (None, "a NoneType"),
        ((None, Z), "a NoneType"),
    ],
)
def test_what_is_no_logits_is_named(output, named):
    with pytest.raises(InputRefused, match=named):
        logits(output)
