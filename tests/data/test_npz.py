import io
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sublimate.data import load
from sublimate.errors import InputRefused, IntegrityError, SublimateError

X = np.arange(4 * 3 * 2 * 3, dtype=np.uint8).reshape(4, 3, 2, 3)
Y = np.array([0, 2, 1, 0])
ROWS = {"x_train": X, "y_train": Y}


@pytest.fixture
def save(tmp_path):
    def saved(**arrays):
        np.savez(tmp_path / "toy.npz", **arrays)
        return str(tmp_path / "toy.npz")

    return saved


def test_training_rows_alone_are_enough(save):
    data = load(save(**ROWS))
    assert (data.name, data.sizes, data.classes, data.ids) == ("toy", (4, 0, 0), ("0", "1", "2"), tuple("0123"))
    x, y = data.read(torch.tensor([1]))
    assert x.dtype == torch.uint8 and np.array_equal(x[0], X[1].transpose(2, 0, 1)) and y.tolist() == [2]


def test_every_optional_array_is_used(save):
    data = load(
        save(
            **ROWS,
            x_test=X[:2],
            y_test=Y[:2],
            x_val=X[:1],
            y_val=Y[:1],
            classes=np.array(["ant", "bee", "cat"]),
            ids=np.array([b"p", b"q", b"r", b"s"]),
            class_counts=np.array([5, 1, 9]),
            mean=np.array([0.1, 0.2, 0.3]),
            std=np.array([1.0, 2.0, 3.0]),
        )
    )
    assert (data.sizes, data.classes, data.ids) == ((4, 2, 1), ("ant", "bee", "cat"), ("p", "q", "r", "s"))
    assert (data.class_counts, data.mean, data.std) == ((5, 1, 9), (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    assert data.labels.tolist() == [0, 2, 1, 0, 0, 2, 0]


def test_grey_images_need_no_axis_for_the_channel(save):
    data = load(save(x_train=X[..., 0], y_train=Y))
    assert data.shape == (1, 3, 2)


def test_float_pixels_in_0_to_1_are_kept(save):
    data = load(save(x_train=X / 255, y_train=Y))
    assert data.images.dtype == torch.float32
    assert torch.allclose(data.images * 255, torch.from_numpy(X.transpose(0, 3, 1, 2)).float())


def test_the_default_normalisation_is_that_of_the_training_rows(save):
    x = np.zeros((2, 1, 2, 1), np.uint8)
    x[1] = 255
    data = load(save(x_train=x, y_train=Y[:2], x_test=x[:1], y_test=Y[:1]))
    assert (data.mean, data.std) == ((0.5,), (0.5,))


def test_counts_alone_tell_the_number_of_classes(save):
    assert load(save(**ROWS, class_counts=np.array([2, 1, 1, 7]))).classes == ("0", "1", "2", "3")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y_train": None}, "lacks y_train"),
        ({"x_train": None, "y_train": None}, "lacks x_train, y_train"),
        ({"x_test": X}, "lacks y_test"),
        ({"y_val": Y}, "lacks x_val"),
        ({"y_train": Y.astype(float)}, "y_train .* float64"),
        ({"y_train": Y[:3]}, "for 4 images"),
        ({"y_train": Y[:, None]}, r"shape \(4, 1\)"),
        ({"y_train": Y - 1}, "labels from -1"),
        ({"x_train": X.transpose(0, 3, 1, 2).repeat(4, 3)}, "channels last"),
        ({"x_train": X[0, 0]}, "channels last"),
        ({"x_train": X.astype(float)}, "divide by 255"),
        ({"x_train": X / 255 - 0.1}, "divide by 255"),
        ({"x_train": np.full(X.shape, np.nan)}, "divide by 255"),
        ({"x_train": X.astype(np.int64)}, "divide by 255"),
        ({"x_test": X[:, :2], "y_test": Y}, "different shape"),
        ({"x_test": X / 255, "y_test": Y}, "different shape or type"),
        ({"x_train": X[:0], "y_train": Y[:0]}, "no training rows"),
        ({"x_train": np.array([None] * 4)}, "plain arrays"),
        ({"classes": np.array(["a", "b"])}, "labels from 0 to 2 for 2 classes"),
        ({"ids": np.array(["a", "b", "a", "c"])}, "used twice"),
        ({"ids": np.array(["a", "b"])}, "ids"),
        ({"class_counts": np.array([1, 9, 9])}, "class_counts"),
        ({"class_counts": np.array([9, 9, 9]), "classes": np.array(list("abcd"))}, "class_counts"),
        ({"class_counts": np.array([2.5, 9, 9])}, "whole numbers"),
        ({"mean": np.array([0.5])}, "std"),
        ({"mean": np.array([0.5]), "std": np.array([0.5])}, "3 channels"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(save, change, words):
    arrays = {key: value for key, value in {**ROWS, **change}.items() if value is not None}
    with pytest.raises(InputRefused, match=words):
        load(save(**arrays))


def test_what_is_missing_is_named_beside_what_is_there(save):
    with pytest.raises(InputRefused, match=r"lacks y_train.*holds x_train, labels"):
        load(save(x_train=X, labels=Y))


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "canary"), "w"))

    np.savez(tmp_path / "toy.npz", x_train=X, y_train=np.array([Trap()] * 4), allow_pickle=True)
    with pytest.raises(InputRefused, match="plain arrays"):
        load(str(tmp_path / "toy.npz"))
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("content", [b"", b"x_train", b"\x93NUMPY\x01\x00"])
def test_a_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "toy.npz").write_bytes(content)
    with pytest.raises(InputRefused, match=r"not an \.npz"):
        load(str(tmp_path / "toy.npz"))


def test_a_zip_archive_of_other_things_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "toy.npz", "w") as archive:
        archive.writestr("x_train", "hello")
    with pytest.raises(InputRefused, match="x_train"):
        load(str(tmp_path / "toy.npz"))


def stored(compressed):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **ROWS)
    return file.getvalue()


@pytest.mark.parametrize("compressed", [True, False])
def test_a_truncated_file_breaks_its_integrity(tmp_path, compressed):
    whole = stored(compressed)
    for cut in range(2, len(whole), 7):
        (tmp_path / "toy.npz").write_bytes(whole[:cut])
        with pytest.raises(IntegrityError, match="truncated"):
            load(str(tmp_path / "toy.npz"))


@settings(max_examples=300, deadline=None)
@given(compressed=st.booleans(), data=st.data())
def test_a_changed_byte_changes_no_pixel_unseen(tmp_path_factory, compressed, data):
    whole = bytearray(stored(compressed))
    place = data.draw(st.integers(2, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flip") / "toy.npz"
    path.write_bytes(whole)
    try:
        loaded = load(str(path))
    except SublimateError:
        return
    assert np.array_equal(loaded.images, X.transpose(0, 3, 1, 2)) and np.array_equal(loaded.labels, Y)
