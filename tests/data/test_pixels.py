import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sublimate.data.pixels import channel_stats, check_normalisation, tiles
from sublimate.errors import InputRefused


@given(st.integers(1, 200), st.integers(1, 3), st.integers(0, 2**31))
def test_stats_equal_the_textbook_formula(n, channels, seed):
    x = torch.randint(0, 256, (n, channels, 3, 2), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)
    mean, std = channel_stats(x.__getitem__, torch.arange(n))
    flat = x.double().div(255).transpose(0, 1).flatten(1)
    assert mean == pytest.approx(flat.mean(1).tolist(), abs=6e-6)
    assert std == pytest.approx([s or 1.0 for s in flat.std(1, unbiased=False).tolist()], abs=6e-6)


def test_stats_look_at_the_given_rows_alone():
    x = torch.tensor([0.0, 0.25, 0.75]).view(3, 1, 1, 1)
    assert channel_stats(x.__getitem__, torch.tensor([1, 2])) == ((0.5,), (0.25,))


def test_a_constant_channel_is_not_divided_by_zero():
    x = torch.full((2, 1, 2, 2), 51, dtype=torch.uint8)
    assert channel_stats(x.__getitem__, torch.arange(2)) == ((0.2,), (1.0,))


@pytest.mark.parametrize("channels", [1, 3])
def test_tiles_are_read_row_by_row(channels, tmp_path):
    expected = np.random.default_rng(0).integers(0, 256, (6, 4, 4, channels), dtype=np.uint8)
    picture = np.concatenate([np.concatenate(list(expected[r * 3 : r * 3 + 3]), axis=1) for r in range(2)])
    Image.fromarray(picture.squeeze()).save(tmp_path / "mosaic.png")
    assert np.array_equal(tiles(tmp_path / "mosaic.png", 4).numpy(), expected)


@pytest.mark.parametrize(
    ("mean", "std"), [((0.5,), (0.5,) * 3), ((0.5,) * 3, (0.5, 0.5, 0)), ((0.5, 0.5, float("nan")), (1,) * 3)]
)
def test_a_normalisation_that_cannot_be_applied_is_refused(mean, std):
    with pytest.raises(InputRefused):
        check_normalisation("toy", 3, mean, std)
