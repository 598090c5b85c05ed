"""Whether the names in an experiment file exist: methods, options, models, views, recipes, data, requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..data.sources import SOURCES
from ..data.views import view
from ..errors import InputRefused, SublimateError, UsageError, unknown
from ..models.registry import MODELS
from ..request import parse
from ..training import find_recipe
from ..unlearn import find, methods
from ..unlearn import method as make
from ..unlearn.presets import read_preset
from .kinds import EDITIONS
from .schema import Case, Experiment, Method, Setting


def check(experiment: Experiment, *, place: str) -> None:
    """Refuse what could not be run, with its place in the file, before anything is trained."""
    for number, setting in enumerate(experiment.settings, start=1):
        for edition in EDITIONS:
            if case := setting.case(edition):
                _placed(f"{place}: settings[{number}].{edition}", _case, setting, case, experiment.folder)
    for number, method in enumerate(experiment.methods, start=1):
        _placed(f"{place}: methods[{number}]", _method, method, experiment)


def _placed(place: str, look: Callable[..., None], *given: object) -> None:
    try:
        look(*given)
    except SublimateError as error:
        raise type(error)(f"{place}: {error.cause}", error.remedy) from None


def _case(setting: Setting, case: Case, folder: Path) -> None:
    # Names of Python functions, which the command line takes, are not taken from a file: files are passed around.
    if case.data not in SOURCES and not Path(case.data).exists():
        raise unknown(UsageError, "data set", [case.data], [*SOURCES, "the path of an image folder or .npz file"])
    if case.model not in MODELS:
        raise unknown(UsageError, "model", [case.model], MODELS)
    view(case.views)
    find_recipe(case.recipe, epochs=case.epochs)
    if (scenario := parse(case.request).scenario) != setting.scenario:
        remedy = f"Write scenario = {scenario!r}, or another request."
        raise InputRefused(f"The request {case.request!r} is not of the scenario {setting.scenario}.", remedy)
    if case.original and not (folder / case.original).is_file():
        raise InputRefused(f"There is no file {folder / case.original}.", "Give it from where the TOML file lies.")


def _method(method: Method, experiment: Experiment) -> None:
    if method.name not in methods():
        raise unknown(UsageError, "method", [method.name], methods())
    plain = method.preset in ("auto", "paper")
    values = {} if plain else read_preset(experiment.folder / method.preset, method.name)
    for edition in method.only:
        made = make(method.name, **(values | method.chosen(edition)))
        if method.few == 0 and made.reads(forget=1, retain=1).get("retain"):
            raise InputRefused(f"{method.name} reads retained records.", "Give it a budget of at least 1.")
    _supported(method, experiment)


def _supported(method: Method, experiment: Experiment) -> None:
    """What the method would refuse itself, but only when its turn came."""
    cls = find(method.name)
    if cls.needs_records:
        remedy = f"Leave it out, or run it alone: `sublimate erase --method {method.name} --records FILE`."
        raise InputRefused(f"{method.name} needs what was kept at training time, and bench keeps nothing.", remedy)
    asked = {setting.scenario for edition in EDITIONS for setting, _, one in experiment.pairs(edition) if one is method}
    if cannot := asked - set(cls.scenarios):
        known = f"It knows {', '.join(cls.scenarios)}; leave it or that setting out."
        raise InputRefused(f"{method.name} is not defined for the scenario {min(cannot)}.", known)
