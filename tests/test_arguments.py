"""Arguments of a wrong kind are refused with a cause and a remedy, wherever the public functions take them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

import sublimate as sm
from sublimate.errors import InputRefused, SublimateError

X, Y = torch.zeros(20, 1, 8, 8), torch.arange(20) % 4
PIXELS = (X.byte(), Y)


class Raising(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise OSError("disk gone\nfor good")


NETWORK, DATA, SPLIT = "torch.nn.Module", "sublimate.load", "sublimate.split"
MISUSED = {
    "load a number": (lambda t: sm.load(5), "cannot be of type int"),
    "load a long name": (lambda t: sm.load("a" * 5000), "No data set"),
    "evaluate swapped": (lambda t: sm.evaluate(t.split, t.model), SPLIT),
    "split a name": (lambda t: sm.split("digits", "class:3"), DATA),
    "split by a word": (lambda t: sm.split(t.data, "class:1", seed="x"), "seed cannot be of type str"),
    "erase from a name": (lambda t: sm.erase("net.pt", t.data, "class:1"), NETWORK),
    "erase from a class": (lambda t: sm.erase(torch.nn.Linear, t.data, "class:1"), NETWORK),
    "erase of a name": (lambda t: sm.erase(t.model, "digits", "class:1"), DATA),
    "erase, swapped": (lambda t: sm.erase(t.data, t.model, "class:1"), NETWORK),
    "erase by a number": (lambda t: sm.erase(t.model, t.data, "class:1", method=5), "method cannot be of type int"),
    "erase without a preset": (
        lambda t: sm.erase(t.model, t.data, "class:1", preset=None),
        "preset cannot be of type None",
    ),
    "erase with a word as seed": (
        lambda t: sm.erase(t.model, t.data, "class:1", seed="x"),
        "seed cannot be of type str",
    ),
    "unlearn from nothing": (lambda t: sm.Siamese().unlearn(None, t.split.forget_set, t.split.few_set), NETWORK),
    "train on a name": (lambda t: sm.train("digits", "small-cnn"), DATA),
    "train a network": (lambda t: sm.train(t.data, t.model), "module:function"),
    "train a class": (lambda t: sm.train(t.data, torch.nn.Linear), "module:function"),
    "evaluate a name": (lambda t: sm.evaluate("net.pt", t.split), NETWORK),
    "audit a name": (lambda t: sm.audit("net.pt", original=t.model, split=t.split), NETWORK),
    "audit against a name": (lambda t: sm.audit(t.model, original="net.pt", split=t.split), NETWORK),
    "audit on data": (lambda t: sm.audit(t.model, original=t.model, split=t.data), SPLIT),
    "full class of a list": (lambda t: sm.FullClass(["3"]), "one by one"),
    "sub-class by text": (lambda t: sm.SubClass("3", "0.5"), "A share cannot be of type str"),
    "sub-class of a list": (lambda t: sm.SubClass(["3"], 0.5), "one name"),
    "mean of text": (lambda t: sm.Data.from_dataset(PIXELS, mean="a", std=0.5), "mean cannot be of type str"),
    "mean of texts": (
        lambda t: sm.Data.from_dataset(PIXELS, mean=["a"], std=[0.5]),
        "value of mean cannot be of type str",
    ),
    "a number of classes": (lambda t: sm.Data.from_dataset((X, Y), classes=4), "classes cannot be of type int"),
    "a number of ids": (lambda t: sm.Data.from_dataset((X, Y), ids=5), "ids cannot be of type int"),
    "flip by word": (lambda t: sm.Data.from_dataset((X, Y), flip="no"), "True or False"),
    "a set that raises": (lambda t: sm.Data.from_dataset(Raising()), "Row 0 .* OSError: disk gone. Let"),
    "listed labels": (
        lambda t: sm.Data(name="d", images=X, labels=Y.tolist(), sizes=(20, 0, 0), classes=tuple("abcd")),
        "tensor of class numbers",
    ),
    "no class of a number": (lambda t: sm.split(t.data, sm.FullClass(77)), "No class '77'"),
}


@pytest.mark.parametrize("case", MISUSED)
def test_misuse_is_refused(toy, case):
    use, words = MISUSED[case]
    with pytest.raises(SublimateError, match=words):
        use(toy)


def test_an_option_that_is_none_stays_a_type_error():
    with pytest.raises(TypeError):
        sm.Siamese(bogus=1)


REFERENCES = {
    "text": lambda model: "net.pt",
    "generator": lambda model: (one for one in [model]),
    "listed text": lambda model: [model, "net.pt", model],
    "pair without a network": lambda model: ("net.pt", "f00d"),
}


@pytest.mark.parametrize("case", REFERENCES)
def test_a_reference_of_a_wrong_kind_is_refused(toy, case):
    with pytest.raises(InputRefused, match="reference cannot be"):
        sm.audit(toy.model, original=toy.model, split=toy.split, reference=REFERENCES[case](toy.model))


SCORES = {
    "list": (["confidence"], "scorers cannot be of type list"),
    "text": ({"mine": "confidence"}, "The score 'mine' cannot be of type str"),
    "number": ({"mine": lambda out: 0.5}, "'mine' gives cannot be of type float"),
    "axes": ({"mine": lambda out: out.z}, "'mine' has the shape"),
    "length": ({"mine": lambda out: out.z[1:, 0]}, "'mine' has the shape"),
}


@pytest.mark.parametrize("case", SCORES)
def test_a_score_of_a_wrong_kind_is_refused(toy, case):
    scorers, words = SCORES[case]
    with pytest.raises(InputRefused, match=words):
        sm.audit(toy.model, original=toy.model, split=toy.split, scorers=scorers)


@pytest.mark.parametrize("ids", [np.arange(20), torch.arange(20), range(20)], ids=type)
def test_ids_may_be_arrays(ids):
    assert sm.Data.from_dataset((X, Y), ids=ids).ids == tuple(map(str, range(20)))


def test_classes_named_by_numbers_are_found():
    data = sm.Data.from_dataset((X, Y), classes=[1, 2, 3, 4])
    assert data.classes == ("1", "2", "3", "4")
    found = [sm.split(data, request) for request in ("class:3", sm.FullClass(3), sm.SubClass(3, 1.0))]
    assert [split.forget.tolist() for split in found] == [[2, 6, 10, 14, 18]] * 3
    assert found[2].request == sm.SubClass("3", 1.0)


def test_a_normalisation_of_one_channel_may_be_numbers():
    data = sm.Data.from_dataset(PIXELS, mean=0.5, std=np.float32(0.25))
    assert (data.mean, data.std) == ((0.5,), (0.25,))
    with pytest.raises(InputRefused, match="3 channels but 1 values of mean"):
        sm.Data.from_dataset((X.byte().expand(-1, 3, -1, -1), Y), mean=0.5, std=0.5)
