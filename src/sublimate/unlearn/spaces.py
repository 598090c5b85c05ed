"""What `tune` searches of each method, as data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .base import Unlearner


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, whole ones if both bounds are; by orders of magnitude where `log`."""

    low: float
    high: float
    log: bool = False


Choice = tuple[str | float, ...]
Space = dict[str, Range | Choice]

# Options that mean the same in most methods: from default/factor to default·factor.
FACTORS = {"lr": 30, "alpha": 10, "beta": 10, "gamma": 10, "lam": 10}
# By method: what the common names do not cover, or would cover wrongly.
SPACES: dict[str, Space] = {
    "siamese": {
        "lr": Range(1e-5, 0.03, log=True),  # the paper's value is low: the rates of the preset auto lie within
        "kvc": Range(0.1, 10.0, log=True),
        "permutation": ("paper", "retained"),
    },
    "siamese-matched": {
        "steps": Range(50, 1200),
        "weight": Range(0.05, 2.0, log=True),
        "near": Range(0.3, 3.0, log=True),
    },
    "neggrad": {"lr": Range(5e-7, 0.015, log=True)},  # nothing holds what stays: deep networks bear 1e-6
    "neggrad-plus": {"alpha": Range(0.5, 0.999)},
    "badt": {"tau": Range(0.5, 8.0, log=True)},
    "scrub": {"alpha": Range(0.001, 1.0, log=True), "msteps": Range(1, 6)},
    "ssd": {"alpha": ("search", 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)},
    "fisher": {"alpha": ("search", 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)},
    "influence": {"alpha": ("search", 1.0, 3.0, 10.0, 30.0, 100.0), "damping": Range(1e-4, 1.0, log=True)},
    "boundary-shrink": {"epsilon": Range(0.01, 0.3, log=True)},
    "unsir": {"repair_lr": Range(1.5e-5, 0.015, log=True)},
    "salun": {"share": Range(0.1, 1.0)},
    "gkt": {"iterations": Range(100, 1000)},
}


def space(cls: type[Unlearner]) -> Space:
    """What is searched: the entry of the table, and options of common names around their defaults.

    >>> from . import find
    >>> space(find("siamese"))["epochs"], space(find("siamese"))["lam"]
    (Range(low=1, high=6, log=False), Range(low=0.1, high=10.0, log=True))
    """
    common = {f.name: _common(f.name, f.default) for f in fields(cls)}
    return {name: found for name, found in common.items() if found} | SPACES.get(cls.name, {})


def short(value: float) -> float:
    """Three digits: nobody can tell 0.00123 from 0.0012345.

    >>> short(0.0012345)
    0.00123
    """
    return float(f"{value:.3g}")


def _common(name: str, default: Any) -> Range | None:
    if name == "epochs" and isinstance(default, int):
        return Range(1, 2 * default)
    if name not in FACTORS or not isinstance(default, float) or default <= 0:
        return None
    high = default * FACTORS[name]
    # Rates and shares end at one: what is below one by default does not go beyond.
    return Range(short(default / FACTORS[name]), short(high if default >= 1 else min(high, 1.0)), log=True)
