from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sublimate.bench.experiments import load
from sublimate.store import Store
from sublimate.testing.toy import quadrants

TOML = """
id = "own/{name}"
title = "A test"
kind = "{kind}"
measures = ["acc_dr", "acc_df", "ta", "mia"]
[[settings]]
scenario = "{scenario}"
[settings.smoke]
data = "{data}"
request = "{request}"
model = "small-cnn"
recipe = "fast"
epochs = 2
views = "simple"
few = 60
{more}
{methods}
"""
METHOD = '[[methods]]\nname = "{0}"\nlabel = "{1}"\npreset = "paper"\nset = {2}\n'
METHODS = (
    ("original", "Original", "{}"),
    ("retrain", "Retrain", "{}"),
    ("siamese", "Siamese", "{ lr = 1e-2, epochs = 2 }"),
    ("finetune", "Finetune", "{ epochs = 2 }"),
)


@pytest.fixture(scope="session")
def toy_file(tmp_path_factory):
    """Four classes of 8 × 8 images: 240 for training, 120 for tests."""
    path = tmp_path_factory.mktemp("toy") / "toy.npz"
    (x, y), (u, v) = quadrants(240, 0), quadrants(120, 1)
    np.savez(path, x_train=x[:, 0], y_train=y, x_test=u[:, 0], y_test=v, classes=np.array(list("abcd")))
    return path


@pytest.fixture
def declared(toy_file, tmp_path):
    """An experiment file of one's own, written and loaded."""

    def declared(
        *methods, kind="scores", scenario="full-class", request="class:b", more="", name="toy", folder=tmp_path
    ):
        lines = "".join(METHOD.format(*method) for method in methods or METHODS)
        text = TOML.format(
            name=name, kind=kind, scenario=scenario, data=toy_file, request=request, more=more, methods=lines
        )
        path = Path(folder) / f"{name}.toml"
        path.write_text(text)
        return load(path)

    return declared


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")
