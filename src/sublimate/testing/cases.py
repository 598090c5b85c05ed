"""Our own methods under contract: what to try each with, and what to expect of it."""

from __future__ import annotations

from typing import Any

from ..unlearn import METHODS
from .case import Case
from .recorded import sharded, watched

RUINOUS = 1000  # times the learning rate: the guard must answer


def _descent(lr: float, enough: int, **more: Any) -> dict[str, Any]:
    """A method of epochs: two are quick, so many forget a class."""
    quick = {"lr": lr, "epochs": 2, "batch_size": 16}
    return {"quick": quick, "enough": {"epochs": enough}, "ruin": {"lr": RUINOUS * lr, "epochs": 5}, **more}


EXPECTED: dict[str, dict[str, Any]] = {
    "original": {"random": False},
    "retrain": {"quick": {"epochs": 4}, "enough": {"epochs": 12}, "ruin": {"epochs": 1}},
    "siamese": _descent(0.01, 6),
    "siamese-matched": {
        "quick": {"lr": 0.05, "steps": 12, "batch_size": 16, "forget_batch": 8, "refresh": 5},
        "ruin": {"lr": RUINOUS * 0.2},  # its default: with a part of D_r the rate is a part of it
        "judges": True,
        "stops_early": True,  # it reads less where few records are far from their targets
    },
    "finetune": _descent(0.05, 12, forgets=False),  # a class that is not rehearsed only fades
    "l1-sparse": _descent(0.05, 12) | {"enough": {"epochs": 12, "gamma": 0.01}},
    "neggrad": _descent(0.01, 6),
    "neggrad-plus": _descent(0.02, 12),
    "randlab": _descent(0.02, 3),
    "amnesiac": _descent(0.01, 3),
    "badt": _descent(0.01, 3),
    "salun": _descent(0.02, 3),
    "scrub": {
        "quick": {"lr": 0.01, "epochs": 3, "msteps": 2, "batch_size": 16, "forget_batch_size": 16},
        "enough": {"epochs": 4},
        "ruin": {"lr": RUINOUS * 0.01, "epochs": 5},
    },
    "boundary-shrink": _descent(0.01, 2),
    "boundary-expand": _descent(0.01, 2),
    "unsir": {
        "quick": {"lr": 0.01, "repair_lr": 0.005, "batch_size": 16, "noise_steps": 4, "noise_size": 2},
        "enough": {"noise_steps": 40},
        "ruin": {"lr": 1e30},  # at 1000 times the rate it recovers
        "idle": {"lr": 1e-30, "repair_lr": 1e-30, "norm": "eval"},
        "forgets": False,  # the repair brings half of it back
    },
    "ssd": {
        "random": False,
        "judges": True,
        "faint": True,
        "ruin": {"alpha": 1e-9, "lam": 1e-9},
        "idle": {"alpha": 1e30},
    },
    "fisher": {"judges": True, "ruin": {"alpha": 1e3}},
    "influence": {
        "random": False,
        "judges": True,
        "faint": True,
        "stops_early": True,
        "ruin": {"alpha": 1e38},
        "idle": {"alpha": 1e-30},
    },
    "gkt": {
        "quick": {"lr": 0.01, "iterations": 4, "n_s": 3, "batch_size": 16, "z": 8, "epsilon": 0.3},
        "enough": {"lr": 0.005, "iterations": 30, "n_s": 5, "epsilon": 0.01},
        "ruin": {"lr": RUINOUS * 0.01},
    },
    "sisa": {"setup": sharded, "few": "all", "random": False, "stops_early": True},
    "amnesiac-true": {
        "setup": watched,
        "few": "all",
        "quick": {"lr": 0.01, "epochs": 2, "batch_size": 32},
        "ruin": {"lr": 1e30},  # at 1000 times the rate it recovers
        "idle": {},  # what it subtracts is always felt
    },
}
CASES = {name: Case(cls=METHODS[name], **expected) for name, expected in EXPECTED.items()}
