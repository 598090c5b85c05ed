"""What a step is, and the key that stands for its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import InputRefused, UsageError
from ..files import sha256
from ..importing import imported


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """A function `module:function`, called as `function(context, **parameters, **hints)`, that gives bytes or JSON.

    The key stands for the result, so all that the result depends on is in it; `version` is raised with the code.

    >>> one, two = (Step(name="fit", function="mine:fit", parameters={"seed": seed}) for seed in (1, 2))
    >>> one.key == two.key, len(one.key)
    (False, 64)
    """

    name: str
    function: str | Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[Step, ...] = ()
    version: str = "1"
    threads: int = 1  # torch's, wherever the step runs: the last bits of a result depend on it
    hints: Mapping[str, str] = field(default_factory=dict)  # what the result does not depend on: where a file lies
    device: str | None = None  # where it runs, on whatever machine; None: as the function likes

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", _qualified(self.function))
        # The function gets what the key is made of: JSON, in one order.
        parameters = json.loads(to_json(dict(self.parameters), f"The parameters of {self.name}"))
        object.__setattr__(self, "parameters", parameters)
        if len({need.name for need in self.needs}) < len(self.needs):
            raise InputRefused(f"Two needs of {self.name} have the same name.", "Give each a name of its own.")

    @cached_property
    def key(self) -> str:
        """SHA-256 over all but the step's own name, which is only a label, the hints and the device."""
        needs = {need.name: need.key for need in self.needs}
        return sha256(to_json([self.function, self.parameters, needs, self.version, self.threads], self.name))


def order(steps: Iterable[Step]) -> list[Step]:
    """The steps and all they need, needs first, each once.

    >>> data = Step(name="data", function="mine:load")
    >>> [step.name for step in order([Step(name="fit", function="mine:fit", needs=(data,)), data])]
    ['data', 'fit']
    """
    found: dict[str, Step] = {}

    def visit(step: Step) -> None:
        if step.name not in found:
            for need in step.needs:
                visit(need)
        if found.setdefault(step.name, step).key != step.key:
            raise InputRefused(f"Two different steps are named {step.name}.", "Give each a name of its own.")

    for step in steps:
        visit(step)
    return list(found.values())


def to_json(value: object, what: str) -> bytes:
    """The same bytes for the same value."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputRefused(f"{what} cannot be written as JSON: {error}.", "Use plain values.") from None


def find_function(name: str) -> Callable[..., Any]:
    """The function of this name."""
    try:
        function: Callable[..., Any] = imported(name)
    except InputRefused as refused:
        raise UsageError(refused.cause, "Give module:function as Python sees it.") from refused
    return function


def _qualified(function: str | Callable[..., Any]) -> str:
    if isinstance(function, str):
        return function
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    # In another process __main__ is another module.
    if name.startswith("__main__:") or find_function(name) is not function:
        raise UsageError(f"{name} is not the name of this function.", "Define it at the top of a module.")
    return name
