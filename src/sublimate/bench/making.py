"""The steps of one case and one seed.  A step is named by all it depends on, so identical work is one step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..data.sources import SOURCES
from ..files import sha256
from ..plan import Step
from ..unlearn import find
from ..unlearn.presets import read_preset
from . import steps as does
from .kinds import EditionName
from .packing import DEVICE, Few, Request
from .schema import Case, Method
from .versions import version

SECOND = 100  # from here on the seeds of trainings that only serve as references


@dataclass(frozen=True, kw_only=True)
class Values:
    """A method with all that is set for it, in one case."""

    name: str
    preset: str
    options: dict[str, Any]
    few: Few


def values(method: Method, case: Case, edition: EditionName, folder: Path) -> Values:
    """What the file says; views and batch size are the case's where the method has them and nobody set others."""
    cls, options, preset = find(method.name), method.chosen(edition), method.preset
    if preset not in ("auto", "paper"):
        # The values of the file rather than its path: the key of a step must not depend on where a file lies.
        options = read_preset(folder / preset, method.name) | options
        preset = "paper" if method.name == "siamese" else "auto"  # of siamese, auto would choose values of its own
    common = {"views": case.views, "batch_size": case.batch_size}
    known = {field.name for field in fields(cls)}
    own = {name: value for name, value in common.items() if value is not None and name in known}
    return Values(name=method.name, preset=preset, options=own | options, few=_readable(method.budget(case), cls.few))


def _readable(budget: Few | None, usual: Few) -> Few:
    """The budget of a split, which has at least one record: methods with a budget of 0 do not look at it."""
    return usual if budget is None else budget or 1


def seeds_of(seed: int) -> dict[str, int]:
    """Seeds of their own for training, unlearning and evaluation: no two share a stream of random numbers.

    >>> seeds_of(2)
    {'train': 2, 'unlearn': 1002, 'evaluate': 2002}
    """
    return {"train": seed, "unlearn": 1000 + seed, "evaluate": 2000 + seed}


@dataclass(frozen=True, kw_only=True)
class Bed:
    """One case with one seed: what is trained once and then unlearned by many."""

    case: Case
    seed: int
    folder: Path  # where the experiment's file lies
    threads: int = 1

    @property
    def on(self) -> Request:
        """The request."""
        return {"data": self.case.data, "request": self.case.request, "seed": self.seed}

    @property
    def seeds(self) -> dict[str, int]:
        """Of training, unlearning and evaluation."""
        return seeds_of(self.seed)

    @cached_property
    def original(self) -> Step:
        """The network before: trained on everything, the same for every request; or somebody else's."""
        if self.case.original:
            path = (self.folder / self.case.original).absolute()  # workers may stand elsewhere
            given = self.step("original", does.given, digest=sha256(path))
            return replace(given, hints={"path": str(path)})
        everything = {"data": self.case.data, "request": "", "seed": 0}
        return self._trained("original", on=everything, without=False)

    @cached_property
    def retrain(self) -> Step | None:
        """The network that never saw what the request names; None where the original is somebody else's."""
        return None if self.case.original else self._trained("retrain", on=self.on, without=True)

    @cached_property
    def second(self) -> Step:
        """A Retrain with another seed of training: beside it an audit of tier 2 looks at the first one too."""
        return self._trained("second retrain", on=self.on, without=True, seed=SECOND + self.seed)

    def network(self, values: Values) -> Step:
        """What the method leaves."""
        if values.name in ("original", "retrain"):
            step = self.original if values.name == "original" else self.retrain
            assert step is not None
            return step
        return self.step(f"unlearn by {values.name}", does.unlearn, (self.original,), values.name, **self.run(values))

    def run(self, values: Values) -> dict[str, Any]:
        """The parameters of a step that runs the method."""
        options = {"seed": self.seeds["unlearn"]} | values.options
        return {
            "on": self.on, "method": values.name, "preset": values.preset, "options": options, "few": values.few,
        }  # fmt: skip

    def step(
        self,
        what: str,
        function: Callable[..., Any],
        needs: tuple[Step, ...] = (),
        method: str = "",
        /,
        **parameters: Any,
    ) -> Step:
        """A step whose name says what it is, and ends in a digest of all it depends on."""
        made = Step(
            name=what,
            function=function,
            parameters=parameters,
            needs=needs,
            version=version(function, parameters, self.case.data, method),
            threads=self.threads,
            hints=self._place if "on" in parameters else {},
            device=DEVICE.get(),
        )
        # Nothing but what the key holds: the same step must have the same name wherever it is asked for.
        on = parameters.get("on", {"seed": 0})
        words = [what, self.case.model, *(str(on[key])[:40] for key in ("data", "request") if on.get(key))]
        return replace(made, name=f"{' '.join(words)} seed {parameters.get('seed', on['seed'])} #{made.key[:8]}")

    @property
    def _place(self) -> dict[str, str]:
        """Where the user's data lie, for workers that stand elsewhere."""
        return {} if self.case.data in SOURCES else {"data_at": str(Path(self.case.data).absolute())}

    def _trained(self, what: str, on: Request, without: bool, seed: int | None = None) -> Step:
        recipe: dict[str, Any] = {name: getattr(self.case, name) for name in ("model", "recipe", "epochs", "views")}
        seed = self.seeds["train"] if seed is None else seed
        return self.step(what, does.train, on=on, seed=seed, without=without, **recipe)
