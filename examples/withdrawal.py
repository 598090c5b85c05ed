"""A person withdraws from a photo collection: her photos are found by their names, erased, audited, and reported on.

The collection is drawn here: boats, houses and trees, each person under a sky of her own.
Usage: `python withdrawal.py [FOLDER]`; without a folder all of it goes into a temporary one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image, ImageDraw

import sublimate as sm
from sublimate.audits.result import Audit
from sublimate.report.page import write_page
from sublimate.report.rows import Row, Story

SCENES = ("boat", "house", "tree")
SHAPES = {
    "boat": [((2, 10), (14, 10), (11, 14), (5, 14)), ((8, 2), (8, 9), (13, 9))],
    "house": [((4, 8), (12, 8), (12, 14), (4, 14)), ((3, 8), (8, 3), (13, 8))],
    "tree": [((7, 9), (9, 9), (9, 14), (7, 14)), ((3, 9), (13, 9), (8, 1))],
}
PEOPLE = ("anna", "bela", "chen", "dara", "mira", "noor", "omar", "pola")


def collect(root: Path) -> None:
    """Draw photos into `train/<scene>/<person>-<number>.png`, and some of strangers into `test/`."""
    for part, people, number in (("train", PEOPLE, 8), ("test", [f"stranger{i}" for i in range(12)], 4)):
        for person in people:
            for scene in SCENES:
                (root / part / scene).mkdir(parents=True, exist_ok=True)
                for i in range(number):
                    photo(scene, person, i).save(root / part / scene / f"{person}-{i:03}.png")


def photo(scene: str, person: str, number: int) -> Image.Image:
    hers = np.random.default_rng(list(person.encode()))
    sky, ink = hers.integers(90, 256, 3), hers.integers(0, 120, 3)
    once = np.random.default_rng([number, *f"{person} {scene}".encode()])
    shown = scene if once.random() > 0.1 else once.choice(SCENES)  # some photos lie in the wrong folder
    pixels = np.clip(sky + once.normal(0, 18, (16, 16, 3)), 0, 255).astype(np.uint8)
    image = Image.fromarray(pixels)
    pen, (x, y) = ImageDraw.Draw(image), once.integers(-2, 3, 2)
    for shape in SHAPES[shown]:
        pen.polygon([(int(x + a), int(y + b)) for a, b in shape], fill=tuple(map(int, ink)))
    return image


def ids_of(person: str, ids: Sequence[str]) -> list[str]:
    """The ids of a folder are paths, such as `tree/mira-003.png`: the name begins with the person."""
    return [one for one in ids if Path(one).name.startswith(f"{person}-")]


def story(result: sm.Result, audit: Audit) -> Story:
    """What the page tells; it counts the records and does not name them."""
    split, record = result.split, result.record
    assert result.before and result.after
    return Story(
        title=f"{len(split.forget)} photos of one person are withdrawn",
        request=f"{len(split.forget)} named records",
        data=split.data.name,
        model="small-cnn",
        split=split.fingerprint,
        counts={"forget": len(split.forget), "retain": len(split.retain), "test": len(split.data.test)},
        rows=[
            Row(name="Original", scores=result.before),
            Row(name="Erased", scores=result.after, seconds=result.seconds, samples=result.samples, record=record),
        ],
        audit=audit,
    )


def withdraw(person: str, folder: Path) -> None:
    collect(folder / "photos")
    data = sm.load(folder / "photos")
    model = sm.train(data, "small-cnn", epochs=15)
    ids = ids_of(person, data.ids)
    print(f"{person} is on {len(ids)} of {len(data.ids)} photos: {ids[0]}, …, {ids[-1]}.")

    result = sm.erase(model, data, sm.Records(*ids))
    audit = sm.audit(result.model, original=model, split=result.split)
    torch.save(result.model.state_dict(), folder / "erased.pt")
    write_page(story(result, audit), folder / "report.html")

    for when, scores in (("before", result.before), ("after", result.after)):
        assert scores
        print(f"{when:6}  right on her photos: {scores.acc_df:5.1f} %   on photos of strangers: {scores.ta:5.1f} %")
    print(f"Verdict: {audit.verdict}.", *audit.reasons, sep="\n  ")
    print(f"Written: {folder / 'erased.pt'}, {folder / 'report.html'}")
    print("The photos themselves, the old network and all copies of it are still there: delete them too.")


def main() -> None:
    if sys.argv[1:]:
        withdraw("mira", Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as folder:
            withdraw("mira", Path(folder))
        print("That folder was temporary and is gone: give one of your own to look at the page.")


if __name__ == "__main__":
    main()
