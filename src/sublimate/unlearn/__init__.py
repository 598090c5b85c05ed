"""HOW: the methods.  A new one is one file and one line here."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ..errors import InputRefused, UsageError, check_is, unknown
from ..importing import imported, told
from .amnesiac import Amnesiac
from .amnesiac_true import AmnesiacTrue
from .badt import BadT
from .base import Unlearner
from .boundary_expand import BoundaryExpand
from .boundary_shrink import BoundaryShrink
from .finetune import Finetune
from .fisher import Fisher
from .gkt import Gkt
from .influence import Influence
from .l1_sparse import L1Sparse
from .neggrad import NegGrad
from .neggrad_plus import NegGradPlus
from .options import check_names
from .original import Original
from .randlab import RandLab
from .retrain import Retrain
from .salun import SalUn
from .scrub import Scrub
from .siamese import Siamese
from .siamese_matched import SiameseMatched
from .sisa import Sisa
from .ssd import Ssd
from .unsir import Unsir

METHODS: dict[str, type[Unlearner]] = {
    cls.name: cls
    for cls in (
        Original,
        Retrain,
        Siamese,
        SiameseMatched,
        Finetune,
        NegGrad,
        NegGradPlus,
        RandLab,
        BadT,
        Scrub,
        Ssd,
        Amnesiac,
        AmnesiacTrue,
        Fisher,
        Influence,
        BoundaryShrink,
        BoundaryExpand,
        Unsir,
        SalUn,
        L1Sparse,
        Sisa,
        Gkt,
    )
}


def methods() -> tuple[str, ...]:
    """The names of all methods, those of installed packages (entry point `sublimate.methods`) included.

    >>> "siamese" in methods()
    True
    """
    return (*METHODS, *(point.name for point in entry_points(group="sublimate.methods") if point.name not in METHODS))


def find(name: str) -> type[Unlearner]:
    """The class of a method: one of ours, one that an installed package registers, or `module:Class`.

    >>> find("siamese").few
    1000
    """
    check_is("method", name, str, "Give the name of a method: `sublimate methods` lists them.")
    if name in METHODS:
        return METHODS[name]
    for point in entry_points(group="sublimate.methods"):
        if point.name == name:
            return _checked(_loaded(point), name)
    if ":" not in name:
        raise unknown(UsageError, "method", [name], methods())
    try:
        return _checked(imported(name), name)
    except InputRefused as refused:
        raise UsageError(refused.cause, "Give module:Class as Python sees it.") from refused


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        remedy = "Repair or remove the package that registers it."
        raise UsageError(f"The method {point.name} cannot be imported: {told(error)}.", remedy) from error


def method(name: str, **options: Any) -> Unlearner:
    """A method by its name, with options that differ from its defaults.

    >>> method("siamese", lr=1e-3).lr
    0.001
    """
    found = find(name)
    check_names(found, options)
    return found(**options)


def _checked(found: Any, name: str) -> type[Unlearner]:
    if not (isinstance(found, type) and issubclass(found, Unlearner)):
        raise UsageError(f"{name} is no method.", "Give a subclass of sublimate.Unlearner.")
    return found
