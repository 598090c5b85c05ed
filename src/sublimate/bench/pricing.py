"""What a plan costs before it runs, and how much of it is left while it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from ..audits.outputs import PASSES
from ..audits.sampling import RETAINED
from ..inference import predict
from ..networks import factory
from ..plan import Advance, Step, price
from ..plan.steps import order
from ..randomness import guarded
from ..splits import Part, Split
from ..store import Store
from ..training import find_recipe
from ..unlearn.presets import plan as passed
from .packing import asked_of, table
from .planning import Planned

BACKWARD = 4  # a training image costs about so many looks
LOOKS = 6  # along a curve, about
PER_STEP = 0.05  # seconds, whatever it does
PRIOR = 10.0  # seconds that the estimate counts for when it is corrected by what was measured


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one step: images that a training or a method reads, images that are only looked at, and seconds."""

    trained: int = 0
    looked: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Price:
    """Of a plan: steps that are done, steps to do, images they read or look at, and about how long it takes."""

    done: int
    todo: int
    images: int
    seconds: float


def costs(planned: Iterable[Planned]) -> dict[str, Cost]:
    """Of every step, by its name; a short measurement tells how fast each network is on this machine."""
    found: dict[str, Cost] = {}
    for one in planned:
        for step in order(one.all_steps):
            if step.name not in found:
                found[step.name] = _cost(step, one.row["data"], one.row["model"])
    return found


def priced(steps: Iterable[Step], store: Store, costs: Mapping[str, Cost]) -> Price:
    """What is left to do, and what it costs."""
    done, todo = price(steps, store)
    left = [costs[step.name] for step in todo]
    images = sum(cost.trained + cost.looked for cost in left)
    return Price(done=len(done), todo=len(todo), images=images, seconds=sum(cost.seconds for cost in left))


class Left:
    """Seconds left of a plan: the estimate, corrected by the time that the steps so far really took."""

    def __init__(self, seconds: Mapping[str, float], now: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._now, self._began = dict(seconds), now, now()
        self._done, self._ended = 0.0, 0

    def after(self, told: Advance) -> float:
        """Seconds left, after this was told."""
        if told.done > self._ended:
            self._ended = told.done
            self._done += self._seconds.pop(told.name, 0.0)
        within = self._seconds.get(told.name, 0.0) * (told.within.done / told.within.total if told.within else 0.0)
        pace = (self._now() - self._began + PRIOR) / (self._done + within + PRIOR)
        return pace * max(0.0, sum(self._seconds.values()) - within)


def _cost(step: Step, data: str, model: str) -> Cost:
    trained, looked = _images(str(step.function).partition(":")[2], dict(step.parameters))
    rate = _rate(data, model) if trained or looked else 1.0
    return Cost(trained=trained, looked=looked, seconds=PER_STEP + (BACKWARD * trained + looked) / rate)


def _images(function: str, given: dict[str, Any]) -> tuple[int, int]:
    """Images that are trained on, and those that are looked at."""
    if function == "given":
        return 0, 0
    if function == "train":
        data = table(given["on"]["data"])
        rows = len(_asked(given).retain) if given["without"] else data.sizes[0]
        return rows * find_recipe(given["recipe"], epochs=given["epochs"]).epochs, 0
    asked = _asked(given)
    everything, sample = sum(asked.data.sizes[:2]), given.get("sample", 0)
    if function in ("unlearn", "curve"):
        run = passed(given["method"], given["preset"], given["options"], asked)[0]
        return run, LOOKS * min(3 * sample, everything)
    if function in ("divergence", "embedded"):
        return 0, 2 * given["points"] * given["number"]
    audited = (
        min(sample, len(asked.control)) + min(sample, len(asked.forget)) + min(RETAINED, sample, len(asked.retain))
    )
    looks = {
        "look": everything,
        "sampled": min(3 * sample, everything),
        "beside": 2 * len(asked.forget),
        "audited": 2 * PASSES * audited,
    }
    return 0, looks[function]


def _asked(given: dict[str, Any]) -> Split:
    on = given["on"]
    return _split(on["data"], on["request"], on["seed"], given.get("few", "all"))


@lru_cache(maxsize=64)
def _split(data: str, request: str, seed: int, few: Any) -> Split:
    return asked_of({"request": request, "seed": seed}, table(data), few)


@lru_cache(maxsize=64)
def _rate(data: str, model: str) -> float:
    """Images a second that one thread passes forward through a network."""
    whole, threads = table(data), torch.get_num_threads()
    few = Part(whole, whole.train[:64], "train")
    torch.set_num_threads(1)
    try:
        with guarded():
            network = factory(model, whole)()
        return len(few) / max(1e-6, min(_seconds(network, few) for _ in range(3)))
    finally:
        torch.set_num_threads(threads)


def _seconds(network: nn.Module, few: Part) -> float:
    """Of the processor: what else runs on this machine does not count."""
    began = time.process_time()
    predict(network, few)
    return time.process_time() - began
