"""What may be given to an audit: networks, a split, references and scores, each of its own kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from ..errors import InputRefused, check_is
from ..inference import GIVE_MODEL
from ..splits import Split

if TYPE_CHECKING:
    from .outputs import Outputs

Scorer = Callable[["Outputs"], Tensor]


def checked_scorers(
    model: object, original: object, split: object, reference: object, scorers: Mapping[str, Scorer]
) -> dict[str, Scorer]:
    """Refuse arguments of a wrong kind; the scorers come back, each held to one number per record."""
    check_is("model", model, nn.Module, GIVE_MODEL)
    check_is("original", original, nn.Module, GIVE_MODEL)
    check_is("split", split, Split, "Give what sublimate.split returns.")
    _check_reference(reference)
    check_is("scorers", scorers, Mapping, "Give functions by their names.")
    return {name: _held(name, score) for name, score in scorers.items()}


def _check_reference(reference: object) -> None:
    remedy = "Give a network, a pair of a network and the fingerprint of its split, or a list of such."
    if reference is None or isinstance(reference, nn.Module):
        return
    check_is("reference", reference, list | tuple, remedy)
    assert isinstance(reference, list | tuple)
    for one in [reference] if _is_pair(reference) else reference:
        check_is("A reference", one[0] if _is_pair(one) else one, nn.Module, remedy)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str | None)


def _held(name: str, score: Scorer) -> Scorer:
    check_is(f"The score {name!r}", score, Callable, "Give a function of outputs.")  # type: ignore[arg-type]

    def held(out: Outputs) -> Tensor:
        found = score(out)
        check_is(f"What the score {name!r} gives", found, Tensor, "Give a tensor of one number per record.")
        if found.shape != (len(out.labels),):
            cause = f"The score {name!r} has the shape {tuple(found.shape)} for {len(out.labels)} records."
            raise InputRefused(cause, "Give one number per record.")
        return found

    return held
