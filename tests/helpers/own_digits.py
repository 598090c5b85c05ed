"""An experiment of one's own on digits, with five lines, and rows of it; nothing of them measured."""

from __future__ import annotations

from sublimate.bench.results import Row

METHODS = """
[[methods]]
name = "original"
label = "Original"
[[methods]]
name = "retrain"
label = "Retrain"
[[methods]]
name = "siamese"
label = "Siamese"
reported = { "random" = { MEASURE = 99.5 } }
[[methods]]
name = "finetune"
label = "Finetune"
[[methods]]
name = "scrub"
label = "SCRUB"
"""
REQUESTS = {"random": "random@10%", "full-class": "class:3"}


def row(label: str, seed: int = 0, **facts: object) -> Row:
    usual = {
        "kind": "scores", "experiment": "own/digits", "edition": "smoke", "scenario": "random", "data": "digits",
        "model": "small-cnn", "views": "none", "request": REQUESTS["random"], "method": label.lower(),
        "label": label, "preset": "auto", "options": {}, "few": 9, "seed": seed, "seeds": {"train": seed},
        "split": "f00d", "versions": {}, "n": {}, "figures": {},
    }  # fmt: skip
    return Row(**(usual | facts))
