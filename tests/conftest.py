from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from sublimate.testing.toy import Toy, toy_problem

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True, scope="session")
def _one_thread_and_own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    torch.set_num_threads(1)  # tiny networks: a second thread only waits
    os.environ["SUBLIMATE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    data = SHARED / "data"
    if "SUBLIMATE_DATA" not in os.environ and data.exists():
        os.environ["SUBLIMATE_DATA"] = str(data)


@pytest.fixture(scope="session")
def toy() -> Toy:
    return toy_problem()


@pytest.fixture(scope="session")
def pair() -> Toy:
    """The same with two classes."""
    return toy_problem(classes=2)
