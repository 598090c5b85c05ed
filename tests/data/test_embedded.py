import hashlib
from importlib.resources import files

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from sublimate.data import load
from sublimate.data.pixels import channel_stats


@pytest.mark.parametrize(
    ("name", "sizes", "shape", "ids"),
    [
        ("digits", (1437, 360, 0), (1, 8, 8), "5ba264a7829c86720206ce784972efe71750f5ac2c77abdb943a8b3a1c1222a5"),
        (
            "fashion-mini",
            (6000, 1000, 0),
            (1, 28, 28),
            "348487761afef223f4a54a44169a02bb02bc58116c36099417a2a0415b76b02a",
        ),
    ],
)
def test_what_is_embedded_never_changes(name, sizes, shape, ids):
    data = load(name)
    assert (data.name, data.sizes, data.shape, data.read(data.train[:2])[0].dtype) == (name, sizes, shape, torch.uint8)
    assert hashlib.sha256(",".join(data.ids).encode()).hexdigest() == ids
    assert (data.mean, data.std) == channel_stats(data.images.__getitem__, data.train)
    assert data.images.is_contiguous() and data.labels.dtype == torch.int64
    assert load(name).fingerprint == data.fingerprint


def test_digits_are_those_of_scikit_learn_each_once():
    data, table = load("digits"), load_digits()
    rows = list(map(int, data.ids))
    held_out = sorted(set(range(1797)) - set(rows))
    assert np.array_equal(data.labels, table.target[rows + held_out])
    expected = np.rint(table.images[rows + held_out] * 255 / 16)
    assert np.array_equal(data.images[:, 0], expected) and data.images.max() == 255
    assert data.classes == tuple("0123456789") and not data.flip


def test_every_digit_gives_a_fifth_to_the_test_part():
    data = load("digits")
    test, all_rows = data.labels[data.test].bincount(), data.labels.bincount()
    assert ((test - all_rows / 5).abs() < 1).all()


def test_fashion_mini_is_balanced_and_named():
    data = load("fashion-mini")
    assert data.classes[0] == "T-shirt/top" and data.classes[9] == "Ankle boot" and data.flip
    assert data.labels[data.train].bincount().tolist() == [600] * 10
    assert data.labels[data.test].bincount().tolist() == [100] * 10
    assert list(map(int, data.ids)) == sorted(map(int, data.ids))
    assert data.mean == pytest.approx((0.2860,), abs=2e-3) and data.std == pytest.approx((0.3530,), abs=2e-3)


def test_the_licence_travels_with_the_pictures():
    assert "MIT License" in (files("sublimate.data") / "fashion_mini" / "LICENSE.txt").read_text()
