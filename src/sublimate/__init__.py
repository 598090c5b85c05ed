"""Erase chosen training data from a trained PyTorch classifier, and show whether it worked.

>>> import sublimate as sm
>>> split = sm.split(sm.load("digits"), "class:3")
>>> split.request
FullClass(names=('3',))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .audits.auditing import audit as audit
    from .audits.evaluation import Scores as Scores
    from .audits.evaluation import evaluate as evaluate
    from .data.core import Data as Data
    from .data.sources import load as load
    from .errors import SublimateError as SublimateError
    from .errors import UnlearningFailed as UnlearningFailed
    from .models.registry import build as build
    from .pipeline import Result as Result
    from .pipeline import erase as erase
    from .pipeline import train as train
    from .request import FullClass as FullClass
    from .request import RandomFraction as RandomFraction
    from .request import Records as Records
    from .request import SubClass as SubClass
    from .splits import Split as Split
    from .splits import split as split
    from .unlearn import method as method
    from .unlearn import methods as methods
    from .unlearn.base import Unlearner as Unlearner
    from .unlearn.siamese import Siamese as Siamese

# Torch takes a second to import: a name is imported when it is first used, so that `sublimate --help` is instant.
_HOME = {
    "Data": "data.core",
    "FullClass": "request",
    "RandomFraction": "request",
    "Records": "request",
    "Result": "pipeline",
    "Scores": "audits.evaluation",
    "Siamese": "unlearn.siamese",
    "Split": "splits",
    "SubClass": "request",
    "SublimateError": "errors",
    "UnlearningFailed": "errors",
    "Unlearner": "unlearn.base",
    "audit": "audits.auditing",
    "build": "models.registry",
    "erase": "pipeline",
    "evaluate": "audits.evaluation",
    "load": "data.sources",
    "method": "unlearn",
    "methods": "unlearn",
    "split": "splits",
    "train": "pipeline",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sublimate' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
