"""The caller's world stays: network, modes, hooks, random state; also after an exception in the middle of a run."""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.core import Data
from ..inference import LOOKING
from ..loop import Progress
from ..randomness import guarded
from .case import Case, chosen, problem, run, start


class Injected(Exception):
    """What a check throws into a run."""


class Watch:
    """Reads like the data, notes what is read in batches and what is judged, and fails at one call if told so."""

    def __init__(self, data: Data, fail_at: int | None = None) -> None:
        self._images, self._fail_at, self.calls = data.images, fail_at, 0
        self.batched, self.judged = Counter[int](), Counter[int]()  # row -> how often; `predict` judges
        self.data = replace(data, images=self)
        self.data.__dict__["fingerprint"] = data.fingerprint  # the same rows

    def __call__(self, rows: Tensor) -> Tensor:
        """Images of these rows."""
        torch.rand(1), np.random.rand(), random.random()  # a reader may draw numbers of its own  # noqa: S311
        self.calls += 1
        if self.calls == self._fail_at:
            raise Injected
        (self.judged if LOOKING.get() else self.batched).update(rows.tolist())
        return self._images[rows] if isinstance(self._images, Tensor) else self._images(rows)


def content(model: nn.Module) -> bytes:
    """All weights and buffers as bytes."""
    return b"".join(t.detach().contiguous().cpu().numpy().tobytes() for t in model.state_dict().values())


def looks(model: nn.Module) -> dict[str, Any]:
    """Everything about a network but its values."""
    modules, parameters = list(model.modules()), list(model.parameters())
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return {
        "kinds of modules": [type(m) for m in modules],
        "modes": [m.training for m in modules],
        "requires_grad": [p.requires_grad for p in parameters],
        "hooks": [[len(vars(m)[h]) for h in hooks] for m in modules],
        "hooks of weights": [len(p._backward_hooks or ()) for p in parameters],
        "gradients": [p.grad is None for p in parameters],
        "memory layout": [p.stride() for p in parameters],
        "names and shapes": [(name, t.shape, t.dtype) for name, t in model.state_dict().items()],
    }


def surroundings(model: nn.Module, data: Data | None = None) -> dict[str, Any]:
    """All of the caller's that could be changed by accident."""
    return {
        "weights": content(model),
        **looks(model),
        "data": [t.numpy().tobytes() for t in data.read(torch.arange(len(data.labels)))] if data else [],
        "torch's random state": torch.get_rng_state().numpy().tobytes(),
        "numpy's random state": _numpy_state(),
        "Python's random state": random.getstate(),
    }


def _numpy_state() -> tuple[object, ...]:
    # The place as well: the keys change only now and then.
    return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in np.random.get_state())


def differences(one: dict[str, Any], other: dict[str, Any]) -> str:
    """The names of what differs."""
    return ", ".join(name for name in one if one[name] != other[name])


def odd_copy(model: nn.Module) -> nn.Module:
    """The network with mixed modes, a frozen weight and a hook."""
    model = copy.deepcopy(model)
    layers = [m for m in model.modules() if not list(m.children())]
    for layer in layers[::2]:
        layer.train()
    layers[0].register_forward_hook(_hook)
    next(model.parameters()).requires_grad_(False)
    return model


def _hook(*_: object) -> None:
    """Does nothing; only its presence counts."""


def check_world_stays(case: Case) -> None:
    """A run changes nothing of the caller's, and gives back a network that looks like the caller's."""
    toy = problem()
    model, data = odd_copy(start(case.setup, toy)[0]), copy.deepcopy(toy.data)
    before = surroundings(model, data)
    erased = run(case, toy, model=model, rows=chosen(case, toy, data=data)).model
    changed = differences(before, surroundings(model, data))
    case.owes(not changed, f"a run changed the caller's {changed}; work on job.model alone.")
    changed = differences(looks(model), looks(erased))
    case.owes(not changed, f"the erased network has other {changed} than the caller's.")
    shared = {t.data_ptr() for t in model.state_dict().values()} & {t.data_ptr() for t in erased.state_dict().values()}
    case.owes(not shared - {0}, "the erased network shares memory with the caller's.")
    frozen = next(name for name, _ in model.named_parameters())
    same = torch.equal(model.state_dict()[frozen], erased.state_dict()[frozen])
    case.owes(same, f"{frozen} is frozen (requires_grad False) but was changed.")


def check_world_stays_after_an_exception(case: Case) -> None:
    """The same when the data cannot be read, or a progress callback fails, at any place of the run."""
    toy, found = problem(), list[Progress]()
    model = odd_copy(start(case.setup, toy)[0])
    watch = Watch(toy.data)
    with guarded():
        run(case, toy, model=model, rows=chosen(case, toy, data=watch.data), progress=found.append)
    half = watch.calls // 2
    for call in sorted({1, half, half + 1, watch.calls}):
        broken = chosen(case, toy, data=Watch(toy.data, fail_at=call).data)
        _fails(case, model, f"read {call} of the data", rows=broken)
    for iteration in sorted({min(1, len(found)), len(found)} - {0}):
        _fails(case, model, f"iteration {iteration}", progress=_Bomb(iteration))


class _Bomb:
    """A progress callback that fails at one iteration."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, _: Progress) -> None:
        self._left -= 1
        if not self._left:
            raise Injected


def _fails(case: Case, model: nn.Module, where: str, **extra: Any) -> None:
    before, raised = surroundings(model), False
    try:
        run(case, problem(), model=model, **extra)
    except Injected:
        raised = True
    case.owes(raised, f"an exception at {where} was swallowed.")
    changed = differences(before, surroundings(model))
    case.owes(not changed, f"an exception at {where} left the caller's {changed} changed.")
