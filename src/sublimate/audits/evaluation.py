"""The paper's figures: accuracies on what was kept and what was forgotten, and its membership attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from ..data.core import Data
from ..errors import InputRefused, check_is
from ..inference import accuracy, predict
from ..splits import Part, Split
from .membership import entropy_mia

MEANING = {
    "acc_dr": ("Acc_Dr", "accuracy on the retained training records; high, near Retrain, is good"),
    "acc_df": ("Acc_Df", "accuracy on the forgotten training records; near Retrain is good, not simply low"),
    "ta_dr": ("TA_Dr", "test accuracy on the classes that stay; high is good"),
    "ta_df": ("TA_Df", "test accuracy on the classes named in the request; near Retrain is good"),
    "ta": ("TA", "accuracy on the whole test set; near Retrain is good"),
    "mia": ("MIA", "share of forgotten records that the paper's attack calls members; near Retrain is good, 0 is not"),
}


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Percentages; None where a figure does not apply.

    >>> Scores(ta=90.0).gap(Scores(ta=91.5))["ta"]
    -1.5
    """

    acc_dr: float | None = None
    acc_df: float | None = None
    ta_dr: float | None = None
    ta_df: float | None = None
    ta: float | None = None
    mia: float | None = None

    def gap(self, reference: Scores) -> dict[str, float | None]:
        """Signed distance to a reference (Retrain), figure by figure."""
        mine, theirs = asdict(self), asdict(reference)
        return {
            name: None if mine[name] is None or theirs[name] is None else mine[name] - theirs[name] for name in mine
        }


def evaluate(
    model: nn.Module, split: Split, *, sample: int | None = None, tick: Callable[[int], None] | None = None
) -> Scores:
    """The paper's figures of one network on one split; each part is passed through the network once.

    `sample` bounds the number of rows per part (seeded).  Figures that do not apply are None.
    """
    check_is("split", split, Split, "Give what sublimate.split returns.")
    check_sample(sample)
    retain, forget, test = parts(split, sample)
    z = {part.name: predict(model, part, tick=tick) for part in (retain, forget, test)}
    return scores(
        z, {part.name: part.labels for part in (retain, forget, test)}, split.named_classes, split.gone_earlier
    )


def parts(split: Split, sample: int | None = None) -> tuple[Part, Part, Part]:
    """Retained, forgotten and test rows, each at most `sample` of them."""
    whole = split.retain_set, split.forget_set, Part(split.data, split.data.test, "test")
    retain, forget, test = (part if sample is None else part.sample(sample) for part in whole)
    return retain, forget, test


def check_sample(sample: object) -> None:
    """Refuse what is no number of records to look at."""
    if sample is not None and (not isinstance(sample, int) or sample < 1):
        raise InputRefused(f"A sample of {sample!r} shows nothing.", "Give at least 1, or None for all records.")


REVISION = "1"  # raised when the same answers lead to other figures: a bench then looks again


def scores(z: dict[str, Tensor], y: dict[str, Tensor], named: Tensor | None, earlier: Tensor | None = None) -> Scores:
    """All figures from logits `z` and labels `y` of the parts.

    `named` are the classes of a class request, `earlier` those that an earlier request had left nothing of.
    """
    ta = accuracy(z["test"], y["test"]) if len(y["test"]) else None
    ta_dr = ta_df = None
    if named is not None and ta is not None:
        gone = torch.isin(y["test"], named)
        ta_df = accuracy(z["test"][gone], y["test"][gone]) if bool(gone.any()) else None
        stay = ~gone if earlier is None else ~gone & ~torch.isin(y["test"], earlier)
        ta_dr = accuracy(z["test"][stay], y["test"][stay]) if bool(stay.any()) else None
    return Scores(
        acc_dr=accuracy(z["retain"], y["retain"]),
        acc_df=accuracy(z["forget"], y["forget"]),
        ta_dr=ta_dr,
        ta_df=ta_df,
        ta=ta,
        mia=entropy_mia(z["retain"], z["test"], z["forget"]) if len(y["test"]) else None,
    )


def whole_test_accuracy(
    model: nn.Module, data: Data, *, sample: int | None = None, tick: Callable[[int], None] | None = None
) -> float | None:
    """TA: accuracy on the whole test set (or a seeded sample of it); None when the data has no test rows."""
    check_sample(sample)
    test = Part(data, data.test, "test")
    test = test if sample is None else test.sample(sample)
    return accuracy(predict(model, test, tick=tick), test.labels) if len(test) else None
