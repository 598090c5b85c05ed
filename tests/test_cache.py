from pathlib import Path

import pytest

from sublimate.cache import cache_dir
from sublimate.errors import ResourceError


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/ann/.cache/sublimate"),
        ({"XDG_CACHE_HOME": "/fast"}, "/fast/sublimate"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/ann/.cache/sublimate"),
        ({"XDG_CACHE_HOME": "/fast", "SUBLIMATE_CACHE": "/own"}, "/own"),
        ({"SUBLIMATE_CACHE": "~/own"}, "/home/ann/own"),
    ],
)
def test_the_nearest_setting_wins(environment, expected, monkeypatch):
    for name in ("XDG_CACHE_HOME", "SUBLIMATE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/ann", **environment}.items():
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(expected)


def test_without_a_home_the_remedy_is_named(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("SUBLIMATE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(ResourceError, match="SUBLIMATE_CACHE"):
        cache_dir()
