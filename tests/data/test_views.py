"""Views against PIL, against their own description, and as good citizens."""

import random

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from scipy.stats import chi2

from sublimate.data.contrastive import augment, pipeline, resized_crop
from sublimate.data.views import VIEWS, contrastive, cutout, simple, view
from sublimate.errors import InputRefused, UsageError

SHAPES = [(4, 1, 8, 8), (4, 1, 28, 28), (4, 3, 32, 32), (4, 3, 33, 47), (4, 5, 32, 32), (1, 3, 32, 32)]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def pictures(n, size=32, channels=3):
    """Smooth pictures with some structure: coarse random colours, enlarged."""
    coarse = np.random.default_rng(0).integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    images = [np.asarray(Image.fromarray(c).resize((size, size), Image.Resampling.BICUBIC)) for c in coarse]
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)[:, :channels].contiguous()


def as_pil(image):
    return Image.fromarray(image.permute(1, 2, 0).numpy())


def levels_off(x, pil_images):
    """|difference| in levels of 255 between float pixels and PIL's."""
    expected = torch.from_numpy(np.stack([np.asarray(p) for p in pil_images])).permute(0, 3, 1, 2)
    return (x * 255 - expected).abs()


def with_coordinates(x):
    """Two more channels that tell of each pixel where it came from (from 1, as 0 is the padding)."""
    n, _, h, w = x.shape
    rows = torch.arange(1, h + 1, dtype=x.dtype).view(1, 1, h, 1).expand(n, 1, h, w)
    columns = torch.arange(1, w + 1, dtype=x.dtype).view(1, 1, 1, w).expand(n, 1, h, w)
    return torch.cat([x, rows, columns], 1)


def offsets(seen, h, w):
    """Row offset, column offset and mirroring of each crop, read off the coordinates in its middle."""
    rows, columns = seen[:, -2].long(), seen[:, -1].long()
    mirrored = columns[:, h // 2, w // 2] > columns[:, h // 2, w // 2 + 1]
    left = torch.where(mirrored, columns.flip(2)[:, h // 2, w // 2], columns[:, h // 2, w // 2])
    return rows[:, h // 2, w // 2] - 1 - h // 2 + h // 8, left - 1 - w // 2 + w // 8, mirrored


@pytest.mark.parametrize(("h", "w"), [(32, 32), (33, 47), (8, 8)])
def test_simple_is_pils_padded_crop_and_flip(h, w):
    x = torch.randint(1, 256, (64, 3, h, w), dtype=torch.uint8, generator=seeded())
    seen = simple(with_coordinates(x), seeded(1))
    for image, out, top, left, mirrored in zip(x, seen[:, :3], *offsets(seen, h, w), strict=True):
        padded = ImageOps.expand(as_pil(image), border=(w // 8, h // 8), fill=0)
        expected = padded.crop((int(left), int(top), int(left) + w, int(top) + h))
        expected = ImageOps.mirror(expected) if mirrored else expected
        assert np.array_equal(np.asarray(as_pil(out)), np.asarray(expected))


def test_simple_draws_all_offsets_and_mirrors_evenly():
    n, cells = 16200, 9 * 9 * 2
    seen = simple(with_coordinates(torch.zeros(n, 0, 32, 32, dtype=torch.uint8)), seeded(3))
    top, left, mirrored = offsets(seen, 32, 32)
    counts = torch.bincount((top * 9 + left) * 2 + mirrored, minlength=cells).double()
    assert len(counts) == cells
    assert float(((counts - n / cells) ** 2 / (n / cells)).sum()) < chi2.ppf(0.999, cells - 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["simple", "cutout"])
def test_bytes_and_floats_are_cut_alike(name, shape):
    x = torch.randint(0, 256, shape, dtype=torch.uint8, generator=seeded())
    assert torch.equal(VIEWS[name](x / 255, seeded(1)), VIEWS[name](x, seeded(1)) / 255)


def test_contrastive_of_bytes_and_floats_is_alike():
    x = pictures(8)
    assert torch.equal(contrastive(x, seeded()), contrastive(x / 255, seeded()))


def test_simple_keeps_type_and_memory_format():
    for dtype in (torch.uint8, torch.float16, torch.float32, torch.float64):
        x = torch.ones(2, 3, 16, 16).to(dtype)
        last = x.to(memory_format=torch.channels_last)
        assert simple(x, seeded()).dtype == dtype
        assert simple(x, seeded()).is_contiguous()
        assert simple(last, seeded()).is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(simple(x, seeded()), simple(last, seeded()))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_takes_every_shape_repeatably_and_leaves_the_rest_alone(name, shape):
    x = torch.randint(1, 256, shape, dtype=torch.uint8, generator=seeded())
    before = x.clone()
    torch_state, numpy_state, python_state = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    first, again, other = (VIEWS[name](x, seeded(s)) for s in (0, 0, 1))
    assert first.shape == x.shape
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(x, before)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state) and random.getstate() == python_state


@pytest.mark.parametrize(("name", "least"), [("simple", 120), ("cutout", 250), ("contrastive", 256)])
def test_every_image_has_its_own_draw(name, least):
    same = pictures(1).expand(256, 3, 32, 32)
    out = VIEWS[name](same, seeded())
    # 256 draws of simple's 162 cells hit 129 on average.
    assert len(out.flatten(1).unique(dim=0)) >= least


@pytest.mark.parametrize("name", VIEWS)
def test_the_generator_moves_on(name):
    generator, x = seeded(), pictures(4)
    assert not torch.equal(VIEWS[name](x, generator), VIEWS[name](x, generator))


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize(("flip", "low", "high"), [(False, 0.0, 0.0), (True, 0.43, 0.57)])
def test_flip_is_half_or_never(name, flip, low, high):
    ramp = torch.linspace(0.3, 0.7, 32).expand(400, 3, 32, 32)
    out = VIEWS[name](ramp, seeded(), flip=flip)[:, 0, 8:24, 8:24]
    rising = (out.diff() > 0) & (out[:, :, :-1] > 0)  # beside the hole of cutout, not at its edge
    falling = (out.diff() < 0) & (out[:, :, 1:] > 0)
    assert low <= float((falling.sum((1, 2)) > rising.sum((1, 2))).float().mean()) <= high


def test_cutout_holes_lie_where_a_clipped_square_with_a_free_centre_lies():
    n, inner = 4000, slice(4, 28)  # the padding of the crop never reaches the inner pixels
    hole = cutout(torch.ones(n, 1, 32, 32, dtype=torch.uint8), seeded())[:, 0, inner, inner] == 0
    centres = [sum(c - 8 <= r < c + 8 for c in range(32)) / 32 for r in range(4, 28)]
    expected = torch.tensor(centres)[:, None] * torch.tensor(centres)
    assert float((hole.float().mean(0) - expected).abs().max()) < 5 * (0.25 / n) ** 0.5
    rows, columns = hole.any(2).sum(1), hole.any(1).sum(1)
    assert torch.equal(hole.sum((1, 2)), rows * columns)  # rectangles
    assert int(rows.max()) == int(columns.max()) == 16


@pytest.mark.parametrize(("h", "w", "side"), [(28, 28, 14), (33, 47, 16), (8, 8, 4)])
def test_cutout_scales_with_the_shorter_side(h, w, side):
    hole = cutout(torch.ones(500, 2, h, w), seeded())[:, 0, h // 8 : -(h // 8), w // 8 : -(w // 8)] == 0
    assert int(hole.any(2).sum(1).max()) == min(side, h - 2 * (h // 8))
    assert int(hole.any(1).sum(1).max()) == side


def jitter(x, **factor):
    change, _ = pipeline(3, 32, 32)[1][0]
    neutral = {"brightness_factor": 1.0, "contrast_factor": 1.0, "saturation_factor": 1.0, "hue_factor": 0.0}
    drawn = {key: torch.full((len(x),), factor.get(key, value)) for key, value in neutral.items()}
    return change(x / 255, params={**change.forward_parameters(x.shape), **drawn, "order": torch.arange(4)})


@pytest.mark.parametrize("factor", [0.6, 0.9, 1.4])
@pytest.mark.parametrize(
    ("name", "enhance"),
    [
        ("brightness_factor", ImageEnhance.Brightness),
        ("contrast_factor", ImageEnhance.Contrast),
        ("saturation_factor", ImageEnhance.Color),
    ],
)
def test_colour_jitter_is_pils(name, enhance, factor):
    x = pictures(16)
    off = levels_off(jitter(x, **{name: factor}), [enhance(as_pil(i)).enhance(factor) for i in x])
    # PIL cuts the blend off to whole levels, and rounds the grey that it blends with.
    assert float(off.max()) < 1.01 + 0.5 * abs(1 - factor)


def test_hue_turns_red_into_green_after_a_third_of_the_circle():
    red = torch.zeros(1, 3, 32, 32, dtype=torch.uint8)
    red[:, 0] = 255
    green = jitter(red, hue_factor=1 / 3)
    assert torch.allclose(green[0, :, 0, 0], torch.tensor([0.0, 1.0, 0.0]), atol=1e-5)


def test_grey_is_pils():
    x = pictures(16)
    grey, _ = pipeline(3, 32, 32)[1][1]
    assert float(levels_off(grey(x / 255), [as_pil(i).convert("L").convert("RGB") for i in x]).max()) < 0.52


def test_resized_crop_is_pils_crop_resize_and_mirror():
    x = pictures(64)
    torch.manual_seed(0)
    boxes = pipeline(3, 32, 32)[0].forward_parameters(x.shape)["src"]
    mirrored = torch.arange(64) % 2 == 1
    expected = []
    for image, box, mirror in zip(x, boxes, mirrored, strict=True):
        (left, top), (right, bottom) = box[0].tolist(), box[2].tolist()
        cut = as_pil(image).crop((left, top, right + 1, bottom + 1)).resize((32, 32), Image.Resampling.BILINEAR)
        expected.append(ImageOps.mirror(cut) if mirror else cut)
    off = levels_off(resized_crop(x / 255, boxes, mirrored), expected)
    assert float(off.mean()) < 0.3 and float(off.max()) < 1.1


def test_a_crop_of_everything_changes_nothing_and_mirrors_to_the_bit():
    x = pictures(2) / 255
    whole = torch.tensor([[0.0, 0.0], [31.0, 0.0], [31.0, 31.0], [0.0, 31.0]]).expand(2, 4, 2)
    out = resized_crop(x, whole, torch.tensor([False, True]))
    assert torch.allclose(out[0], x[0], atol=1e-6)
    assert torch.equal(out[1], resized_crop(x, whole, torch.tensor([False, False]))[1].flip(2))


def crop_like_the_description(h, w, rng):
    """Ten tries of area .2-1 and aspect 3/4-4/3 that fit, else the whole image."""
    for _ in range(10):
        area, aspect = rng.uniform(0.2, 1) * h * w, np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        cut_w, cut_h = round(np.sqrt(area * aspect)), round(np.sqrt(area / aspect))
        if 0 < cut_w <= w and 0 < cut_h <= h:
            return cut_h * cut_w
    return h * w


def test_crop_areas_are_distributed_as_described():
    n, rng = 4000, np.random.default_rng(0)
    torch.manual_seed(0)
    boxes = pipeline(3, 32, 32)[0].forward_parameters(torch.Size((n, 3, 32, 32)))["src"]
    areas = (boxes[:, 2] - boxes[:, 0] + 1).prod(1).numpy() / 1024
    expected = np.array([crop_like_the_description(32, 32, rng) for _ in range(n)]) / 1024
    at = [0.05, 0.25, 0.5, 0.75, 0.95]
    assert np.abs(np.quantile(areas, at) - np.quantile(expected, at)).max() < 0.04


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_blur_is_pils(sigma):
    x = pictures(16)
    blur, _ = pipeline(3, 32, 32)[1][2]
    drawn = {**blur.forward_parameters(x.shape), "sigma": torch.full((16,), sigma)}
    off = levels_off(blur(x / 255, params=drawn), [as_pil(i).filter(ImageFilter.GaussianBlur(sigma)) for i in x])
    assert float(off.mean()) < 1.0


@pytest.mark.parametrize(("side", "kernel"), [(8, 5), (32, 13), (64, 25)])
def test_blur_scales_with_the_side(side, kernel):
    blur, probability = pipeline(1, side, side)[1][-1]
    assert blur.flags["kernel_size"] == (kernel, kernel) and probability == 0.5
    torch.manual_seed(0)
    sigma = blur.forward_parameters(torch.Size((2000, 1, side, side)))["sigma"]
    scale = side / 32
    assert 0.1 * scale <= float(sigma.min()) < 0.12 * scale and 1.98 * scale < float(sigma.max()) <= 2.0 * scale


def test_contrastive_greys_a_fifth_and_stays_in_range():
    x = pictures(16).repeat(100, 1, 1, 1)
    out = contrastive(x, seeded())
    grey = (out.amax(1) - out.amin(1)).amax((1, 2)) < 1e-6
    assert abs(float(grey.float().mean()) - 0.2) < 0.03
    assert out.dtype == torch.float32 and float(out.min()) >= 0 and float(out.max()) <= 1


@pytest.mark.parametrize(
    ("channels", "steps"),
    [
        (3, [("ColorJitter", 0.8), ("RandomGrayscale", 0.2), ("RandomGaussianBlur", 0.5)]),
        (1, [("ColorJitter", 0.8), ("RandomGaussianBlur", 0.5)]),
        (5, [("ColorJitter", 0.8), ("RandomGaussianBlur", 0.5)]),
    ],
)
def test_contrastive_jitters_four_fifths(channels, steps):
    assert [(type(change).__name__, p) for change, p in pipeline(channels, 16, 16)[1]] == steps
    out = contrastive(torch.full((1000, channels, 16, 16), 0.5), seeded())
    brighter_or_darker = (out - 0.5).abs().amax((1, 2, 3)) > 1e-4
    assert abs(float(brighter_or_darker.float().mean()) - 0.8) < 0.04


def test_contrastive_of_one_channel_only_dims_and_blurs():
    flat = torch.full((500, 1, 16, 16), 0.5)
    out = augment(flat, seeded())
    assert float((out.amax((1, 2, 3)) - out.amin((1, 2, 3))).max()) < 1e-6
    assert float((out[:, 0, 0, 0] - 0.5).abs().max()) > 0.15  # brightness .6 to 1.4


@pytest.mark.parametrize(
    "x", [torch.randn(4, 3, 8, 8), torch.full((1, 3, 8, 8), 7), torch.full((1, 3, 8, 8), torch.nan)]
)
def test_contrastive_refuses_what_is_no_pixels(x):
    with pytest.raises(InputRefused, match="needs pixels"):
        contrastive(x, seeded())


def test_views_by_name():
    assert list(VIEWS) == ["simple", "contrastive", "cutout"]
    assert view("simple") is simple
    with pytest.raises(UsageError, match=r"No view 'simpel'\. Known, nearest first: simple"):
        view("simpel")


def test_own_functions_are_views():
    def noise(x, generator):
        return x + torch.rand(x.shape, generator=generator)

    def noise_or_flip(x, g, flip):
        return x.flip(3) if flip else x

    class Module(torch.nn.Module):
        def forward(self, x, generator=None):
            return x + 1

    x = pictures(2)
    assert torch.equal(view(noise)(x, seeded(), flip=False), noise(x, seeded()))
    assert view(noise_or_flip) is noise_or_flip
    assert torch.equal(view(Module())(x, seeded(), flip=True), x + 1)
    assert torch.equal(view(view(noise))(x, seeded()), noise(x, seeded()))


@pytest.mark.parametrize(
    "function", [lambda x: x, lambda x, strength=0.5: x, torch.nn.Identity(), lambda x, a, b: x, len]
)
def test_functions_without_a_generator_are_refused(function):
    with pytest.raises(InputRefused, match=r"draw from that generator only"):
        view(function)
