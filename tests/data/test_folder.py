import numpy as np
import pytest
import torch
from PIL import Image

from sublimate.data import folder, load
from sublimate.errors import InputRefused

RNG = np.random.default_rng(0)
COLOUR = {
    name: RNG.integers(0, 256, (5, 6, 3), dtype=np.uint8)
    for name in ["train/dog/b.png", "train/dog/a.png", "train/cat/2.bmp", "train/cat/deep/1.PNG", "test/dog/x.png"]
}


@pytest.fixture
def tree(tmp_path):
    def planted(images=COLOUR):
        for name, pixels in images.items():
            (tmp_path / "pets" / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / "pets" / name)
        return tmp_path / "pets"

    return planted


def test_rows_are_ordered_by_class_and_path(tree):
    data = load(str(tree()))
    assert (data.name, data.sizes, data.classes) == ("pets", (4, 1, 0), ("cat", "dog"))
    assert data.ids == ("cat/2.bmp", "cat/deep/1.PNG", "dog/a.png", "dog/b.png")
    assert data.labels.tolist() == [0, 0, 1, 1, 1]
    for row, name in enumerate([*(f"train/{i}" for i in data.ids), "test/dog/x.png"]):
        assert np.array_equal(data.read(torch.tensor([row]))[0][0], COLOUR[name].transpose(2, 0, 1))


def test_streamed_rows_are_the_same_as_those_in_memory(tree, monkeypatch):
    root = str(tree())
    memory = load(root)
    monkeypatch.setattr(folder, "IN_MEMORY", 5 * 5 * 6 * 3)
    streamed = load(root)
    assert isinstance(memory.images, torch.Tensor) and not isinstance(streamed.images, torch.Tensor)
    rows = torch.tensor([4, 0, 0, 3])
    assert torch.equal(streamed.read(rows)[0], memory.read(rows)[0])
    assert (streamed.ids, streamed.mean, streamed.std, streamed.shape) == (
        memory.ids,
        memory.mean,
        memory.std,
        memory.shape,
    )


def test_the_fingerprint_of_a_streamed_folder_follows_paths_sizes_and_resizing(tree, monkeypatch):
    monkeypatch.setattr(folder, "IN_MEMORY", 0)
    root = tree()
    first = load(str(root)).fingerprint
    (root / "train/dog/a.png").touch()
    assert load(str(root)).fingerprint == first
    assert load(str(root), size=3).fingerprint != first
    with (root / "train/dog/a.png").open("ab") as file:
        file.write(b"more")
    assert load(str(root)).fingerprint != first


def test_statistics_come_from_the_training_rows(tree):
    black, white = np.zeros((2, 2), np.uint8), np.full((2, 2), 255, np.uint8)
    data = load(str(tree({"train/a/0.png": black, "train/b/1.png": white, "test/a/2.png": white})))
    assert (data.mean, data.std) == ((0.5,), (0.5,))


def test_grey_images_have_one_channel_unless_one_of_them_has_colours(tree):
    grey = {name: pixels[..., 0] for name, pixels in COLOUR.items()}
    assert load(str(tree(grey))).shape == (1, 5, 6)
    assert load(str(tree({**grey, "test/dog/x.png": COLOUR["test/dog/x.png"]}))).shape == (3, 5, 6)


def test_hidden_and_other_files_are_ignored(tree):
    root = tree()
    (root / "train/.cache").mkdir()
    (root / "train/dog/.thumbnails").mkdir()
    for name in ("train/dog/.a.png", "train/dog/notes.txt", "train/readme.png", "train/dog/.thumbnails/a.png"):
        (root / name).write_text("no image")
    assert load(str(root)).sizes == (4, 1, 0)


def test_validation_and_missing_test_part(tree):
    images = {name.replace("test/", "val/"): pixels for name, pixels in COLOUR.items()}
    data = load(str(tree(images)))
    assert data.sizes == (4, 0, 1) and data.val.tolist() == [4]


def test_a_class_without_images_keeps_its_number(tree):
    root = tree()
    (root / "train/bee").mkdir()
    data = load(str(root))
    assert data.classes == ("bee", "cat", "dog") and data.labels.unique().tolist() == [1, 2]


def test_mixed_sizes_name_two_files_and_the_remedy(tree):
    root = tree({**COLOUR, "test/cat/wide.png": np.zeros((5, 9, 3), np.uint8)})
    with pytest.raises(InputRefused, match=r"2\.bmp has 6x5 .*wide\.png has 9x5.*size="):
        load(str(root))


def test_resizing_is_that_of_pillow(tree):
    data = load(str(tree({**COLOUR, "test/cat/wide.png": np.zeros((5, 9, 3), np.uint8)})), size=3)
    expected = Image.fromarray(COLOUR["train/dog/a.png"]).resize((3, 3), Image.Resampling.BILINEAR)
    assert data.shape == (3, 3, 3)
    assert np.array_equal(data.images[2], np.asarray(expected).transpose(2, 0, 1))


@pytest.mark.parametrize("limit", [0, 2**30])
@pytest.mark.parametrize("keep", [0, 20, 60])
def test_an_unreadable_image_is_named(tree, monkeypatch, limit, keep):
    monkeypatch.setattr(folder, "IN_MEMORY", limit)
    root = tree()
    (root / "test/dog/x.png").write_bytes((root / "test/dog/x.png").read_bytes()[:keep])
    with pytest.raises(InputRefused, match=r"x\.png is not a readable image"):
        load(str(root)).read(torch.arange(5))


def test_values_above_8_bits_are_refused_rather_than_cut_off(tree):
    with pytest.raises(InputRefused, match="8 bits"):
        load(str(tree({"train/a/deep.png": np.full((2, 2), 40_000, np.uint16)})))


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ({**COLOUR, "test/fish/1.png": COLOUR["test/dog/x.png"]}, "fish is a class that train/ lacks"),
        ({**COLOUR, "val/fish/1.png": COLOUR["test/dog/x.png"]}, "fish is a class that train/ lacks"),
        ({"test/dog/1.png": COLOUR["test/dog/x.png"]}, "no folders train/<class>"),
        ({"train/1.png": COLOUR["test/dog/x.png"]}, "no folders train/<class>"),
    ],
)
def test_a_folder_of_another_shape_is_refused(tree, images, words):
    with pytest.raises(InputRefused, match=words):
        load(str(tree(images)))


def test_class_folders_without_any_image_are_refused(tmp_path):
    (tmp_path / "train" / "cat").mkdir(parents=True)
    with pytest.raises(InputRefused, match="no images"):
        load(str(tmp_path))


def test_a_size_below_one_is_refused(tree):
    with pytest.raises(InputRefused, match="at least 1"):
        load(str(tree()), size=0)
