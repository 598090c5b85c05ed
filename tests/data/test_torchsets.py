import pickle
import random

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from sublimate.data import Data
from sublimate.data.torchsets import as_data
from sublimate.errors import InputRefused

G = torch.Generator().manual_seed(0)
BYTES = torch.randint(0, 256, (6, 3, 4, 5), generator=G, dtype=torch.uint8)
FLOATS = torch.randn(6, 3, 4, 5, generator=G)
Y = torch.tensor([0, 2, 1, 0, 2, 1])
NORM = {"mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}


class Rows(Dataset):
    """Any list of images and labels; counts how often it is read."""

    def __init__(self, images, given, **attributes):
        self.images, self.given, self.reads = images, given, 0
        self.__dict__.update(attributes)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        self.reads += 1
        return self.images[i], self.given[i]


def all_rows(data):
    return data.read(torch.arange(sum(data.sizes)))


SOURCES = {
    "pair": lambda: (FLOATS, Y),
    "list": lambda: [FLOATS, Y],
    "tensor dataset": lambda: TensorDataset(FLOATS, Y),
    "dataset": lambda: Rows(FLOATS, Y),
    "plain labels": lambda: Rows(FLOATS, Y.tolist()),
    "numpy": lambda: Rows(FLOATS.numpy(), Y.numpy()),
    "doubles": lambda: Rows(FLOATS.double(), Y),
    "targets": lambda: Rows(FLOATS, Y, targets=Y.tolist()),
    "loader": lambda: DataLoader(Rows(FLOATS, Y), batch_size=4, shuffle=True, drop_last=True),
    "subset": lambda: Subset(Rows(FLOATS.repeat(2, 1, 1, 1), Y.repeat(2), targets=Y.repeat(2)), range(6, 12)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_source_gives_the_same_rows(source):
    data = Data.from_dataset(SOURCES[source](), SOURCES[source](), name="mine")
    x, y = all_rows(data)
    assert torch.equal(x, FLOATS.repeat(2, 1, 1, 1)) and torch.equal(y, Y.repeat(2))
    assert (data.name, data.sizes, data.classes, data.pixels) == ("mine", (6, 6, 0), ("0", "1", "2"), False)
    assert data.ids == tuple("012345") and x.dtype == torch.float32
    assert torch.equal(data.normalise(x), x)


PIXELS = {
    "bytes": lambda: Rows(BYTES, Y),
    "pair": lambda: (BYTES, Y),
    "numpy": lambda: Rows(BYTES.numpy().transpose(0, 2, 3, 1), Y),
    "pil": lambda: Rows([Image.fromarray(x) for x in BYTES.numpy().transpose(0, 2, 3, 1)], Y),
}


@pytest.mark.parametrize("source", PIXELS)
def test_every_kind_of_pixels_gives_the_same_rows(source):
    data = Data.from_dataset(PIXELS[source](), **NORM)
    assert torch.equal(all_rows(data)[0], BYTES) and data.pixels
    assert (data.mean, data.std) == ((0.5,) * 3, (0.25,) * 3)


def test_float_pixels_are_kept():
    for source in [
        (BYTES / 255, Y),
        Rows(BYTES / 255, Y),
        Rows((BYTES / 255).double().numpy().transpose(0, 2, 3, 1), Y),
    ]:
        x = all_rows(Data.from_dataset(source, **NORM))[0]
        assert x.dtype == torch.float32 and torch.allclose(x, BYTES / 255)


@pytest.mark.parametrize(
    "source",
    [
        (BYTES[:, 0], Y),
        Rows(BYTES[:, 0], Y),
        Rows(BYTES[:, 0].numpy(), Y),
        Rows([Image.fromarray(x) for x in BYTES[:, 0].numpy()], Y),
    ],
)
def test_grey_pixels_need_no_axis_for_the_channel(source):
    assert torch.equal(all_rows(Data.from_dataset(source, mean=[0.5], std=[0.5]))[0], BYTES[:, :1])


def test_a_palette_image_becomes_rgb():
    image = Image.fromarray(BYTES[0].numpy().transpose(1, 2, 0)).convert("P")
    x = all_rows(Data.from_dataset(Rows([image], [0]), **NORM))[0][0]
    assert np.array_equal(x.numpy().transpose(1, 2, 0), np.asarray(image.convert("RGB")))


def test_parts_of_different_kinds_stand_in_one_table():
    data = Data.from_dataset((FLOATS[:3], Y[:3]), Rows(FLOATS[3:5], Y[3:5]), DataLoader(Rows(FLOATS[5:], Y[5:])))
    assert data.sizes == (3, 2, 1)
    x, y = data.read(torch.tensor([5, 0, 4]))
    assert torch.equal(x, FLOATS[[5, 0, 4]]) and torch.equal(y, Y[[5, 0, 4]])
    assert data.read(data.train[:0])[0].shape == (0, 3, 4, 5)


def test_validation_without_test():
    assert Data.from_dataset((FLOATS, Y), val=(FLOATS, Y)).sizes == (6, 0, 6)


def test_names_and_ids_are_taken():
    data = Data.from_dataset(Rows(FLOATS, Y, classes=["a", "b", "c"]), ids=[10, 11, 12, 13, 14, 15], flip=False)
    assert data.classes == ("a", "b", "c") and data.ids[0] == "10" and not data.flip
    assert Data.from_dataset(Subset(Rows(FLOATS, Y, classes=["a", "b", "c"]), [0, 2])).classes == ("a", "b", "c")
    assert Data.from_dataset(Rows(FLOATS, Y, classes=["a", "b", "c"]), classes="xyz").classes == ("x", "y", "z")


def test_listed_labels_spare_the_pass_over_the_rows():
    x, y = torch.zeros(1000, 1, 2, 2), torch.arange(1000) % 7
    listed, unlisted = Rows(x, y, labels=y), Rows(x, y)
    assert torch.equal(Data.from_dataset(listed).labels, y) and listed.reads < 50
    assert torch.equal(Data.from_dataset(unlisted).labels, y) and unlisted.reads >= 1000


@pytest.mark.parametrize("listed", [Y.flip(0), (Y + 1) % 3, Y[:4], ["cat"] * 6, {0: "cat"}, None])
def test_a_list_that_contradicts_the_rows_is_not_trusted(listed):
    assert torch.equal(Data.from_dataset(Rows(FLOATS, Y, targets=listed)).labels, Y)


class Flipping(Rows):
    """Rows with a random transform inside."""

    def __init__(self, coin):
        super().__init__(FLOATS, Y, targets=Y)
        self.coin = coin

    def __getitem__(self, i):
        x, y = super().__getitem__(i)
        return (x.flip(-1) if self.coin() else x), y


COINS = {
    "torch": lambda: bool(torch.rand(()) < 0.5),
    "numpy": lambda: np.random.rand() < 0.5,
    "python": lambda: random.random() < 0.5,
}


def random_states():
    return torch.get_rng_state().tolist(), pickle.dumps(np.random.get_state()), random.getstate()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("coin", COINS)
def test_random_transforms_are_refused_and_the_random_state_is_kept(coin, seed):
    torch.manual_seed(seed), np.random.seed(seed), random.seed(seed)
    before = random_states()
    with pytest.raises(InputRefused, match="without random transforms"):
        Data.from_dataset(Flipping(COINS[coin]))
    with pytest.raises(InputRefused, match="without random transforms"):
        Data.from_dataset((FLOATS, Y), Flipping(COINS[coin]))
    assert random_states() == before


def test_reading_keeps_the_random_state():
    data = Data.from_dataset(Flipping(lambda: COINS["torch"]() and COINS["numpy"]() and COINS["python"]() and False))
    before = random_states()
    assert torch.equal(all_rows(data)[0], FLOATS)
    assert random_states() == before


class Stream(IterableDataset):
    def __iter__(self):
        return iter([(FLOATS[0], 0)])


class Endless(Dataset):
    def __getitem__(self, i):
        return FLOATS[0], 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Stream(), "map-style"),
        (DataLoader(Stream()), "map-style"),
        (Endless(), "map-style"),
        (FLOATS, "map-style"),
        ((FLOATS, Y, Y), "map-style"),
        ((FLOATS, Y.tolist()), "map-style"),
        ((FLOATS, Y[:5]), "6 images but 5 labels"),
        ((FLOATS[:0], Y[:0]), "no training rows"),
        ((FLOATS[0], Y[:3]), r"shape \(4, 5\)"),
        (Rows([FLOATS[0], FLOATS[0, :, :2]], [0, 1]), "Row 1 .* one size"),
        (Rows([*FLOATS[:3], FLOATS[0, :, :2], *FLOATS[4:]], Y), "Row 3 .* one size"),
        (Rows(FLOATS, torch.eye(6)), "multi-label"),
        (Rows(FLOATS, torch.eye(6).long(), targets=torch.eye(6).long()), "multi-label"),
        (Rows(FLOATS, [0.5] * 6), "regression"),
        ((FLOATS, Y.float()), "regression"),
        ((FLOATS, torch.eye(6).long()), "multi-label"),
        (Rows(FLOATS, ["cat"] * 6), "no numbers"),
        (Rows(FLOATS, [[0], [1, 2], [0], [1], [0], [1]]), "no numbers"),
        ((FLOATS, Y - 1), "labels from -1"),
        (TensorDataset(FLOATS), "not a pair"),
        (TensorDataset(FLOATS, Y, Y), "not a pair"),
        ((BYTES, Y), "mean= and std="),
        (Rows(BYTES, Y), "mean= and std="),
        (Rows([Image.new("RGB", (4, 4))], [0]), "mean= and std="),
        ((FLOATS / 0, Y), "non-finite"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(source, words):
    with pytest.raises(InputRefused, match=words):
        Data.from_dataset(source)


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ((FLOATS, Y), NORM, "0..1"),
        (Rows(FLOATS, Y), NORM, "0..1"),
        ((BYTES.long(), Y), NORM, "int64"),
        (Rows([Image.new("I;16", (4, 4))], [0]), {"mean": [0.5], "std": [0.5]}, "8 bits"),
        ((BYTES, Y), {"mean": (0.5,), "std": (0.5,)}, "3 channels"),
        ((BYTES, Y), {"mean": (0.5,) * 3}, "0 of std"),
        ((FLOATS, Y), {"std": (0.5,) * 3}, "0 values of mean"),
        ((FLOATS, Y), {"classes": ["a"]}, "for 1 classes"),
        ((FLOATS, Y), {"ids": ["a"] * 6}, "used twice"),
        ((FLOATS, Y), {"test": (FLOATS[:, :1], Y)}, "one size"),
        ((BYTES, Y), {**NORM, "test": (BYTES / 255, Y)}, "one size and type"),
    ],
)
def test_options_that_do_not_fit_are_refused_with_the_reason(source, options, words):
    with pytest.raises(InputRefused, match=words):
        Data.from_dataset(source, **options)


def test_a_row_of_another_shape_is_found_when_it_is_read():
    images = [*FLOATS[:3], FLOATS[0, :, :2], *FLOATS[4:]]
    data = Data.from_dataset(Rows(images, Y, targets=Y))
    with pytest.raises(InputRefused, match="Row 3"):
        data.read(torch.tensor([3]))


def test_the_fingerprint_of_streamed_rows_follows_their_values():
    first, same, other = (Data.from_dataset(Rows(x, Y)) for x in (FLOATS, FLOATS.clone(), FLOATS * 2))
    assert first.fingerprint == same.fingerprint != other.fingerprint


def test_the_callers_tensors_are_neither_changed_nor_kept():
    x, y = FLOATS.clone().requires_grad_(), Y.clone()
    data = Data.from_dataset((x, y))
    assert x.requires_grad and not data.images.requires_grad
    with torch.no_grad():
        x.zero_(), y.zero_()
    assert torch.equal(all_rows(data)[0], FLOATS) and torch.equal(data.labels, Y)


@pytest.mark.parametrize("source", SOURCES)
def test_as_data_gives_training_rows_alone(source):
    data = as_data(SOURCES[source]())
    assert data.sizes == (6, 0, 0) and data.classes == ("0", "1", "2") and not data.pixels
    assert as_data(data) is data
