"""A data set class in the style of torchvision, written by oneself, and a class of it erased in a few lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from torch.utils.data import Dataset

import sublimate as sm


class Shapes(Dataset[tuple[Any, int]]):
    """Drawings of shapes: `targets`, `classes`, `transform`, and rows of (PIL image, class number)."""

    classes = ("circle", "square", "triangle", "cross")

    def __init__(self, train: bool = True, transform: Callable[[Image.Image], Any] | None = None) -> None:
        self.transform = transform
        self.random = np.random.default_rng(0 if train else 1)
        self.targets = [number % len(self.classes) for number in range(240 if train else 200)]
        self.images = [self._drawn(self.classes[target]) for target in self.targets]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> tuple[Any, int]:
        image = self.images[row]
        return (self.transform(image) if self.transform else image), self.targets[row]

    def _drawn(self, shape: str) -> Image.Image:
        colours = self.random.integers(0, 256, (2, 3))
        image = Image.new("RGB", (16, 16), tuple(map(int, colours[0] // 2)))
        pen, ink = ImageDraw.Draw(image), tuple(map(int, 128 + colours[1] // 2))
        x, y, side = (int(self.random.integers(low, high)) for low, high in ((1, 5), (1, 5), (8, 11)))
        if shape == "circle":
            pen.ellipse((x, y, x + side, y + side), fill=ink)
        elif shape == "square":
            pen.rectangle((x, y, x + side, y + side), fill=ink)
        elif shape == "triangle":
            pen.polygon([(x, y + side), (x + side, y + side), (x + side // 2, y)], fill=ink)
        else:
            pen.line((x, y, x + side, y + side), fill=ink, width=2)
            pen.line((x, y + side, x + side, y), fill=ink, width=2)
        return image


def main() -> None:
    # Rows as they are stored, so no transform: Sublimate normalises, and draws views of its own where it needs them.
    data = sm.Data.from_dataset(Shapes(), Shapes(train=False), mean=(0.45, 0.45, 0.45), std=(0.25, 0.25, 0.25))
    model = sm.train(data, "small-cnn", epochs=10)  # or a network of your own
    result = sm.erase(model, data, "class:triangle")

    print(f"{len(result.split.forget)} of {data.sizes[0]} drawings are triangles, and the network shall forget them.")
    for when, scores in (("before", result.before), ("after", result.after)):
        assert scores
        print(f"{when:6}  test triangles right: {scores.ta_df:5.1f} %   other test shapes right: {scores.ta_dr:5.1f} %")
    print(f"It read {result.samples} images. It stopped because: {result.record.stopped}.")


if __name__ == "__main__":
    main()
