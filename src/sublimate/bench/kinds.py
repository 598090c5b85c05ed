"""The kinds of values in experiment files and results: what is not one of them is refused."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..files import sha256

EditionName = Literal["smoke", "cpu", "paper"]
Kind = Literal["scores", "curve", "kl", "tsne"]
Scenario = Literal["full-class", "sub-class", "random", "records"]
Measure = Literal[
    "acc_dr", "acc_df", "ta_dr", "ta_df", "ta", "mia", "auc", "js", "kl_dr", "kl_df", "spread_dr", "spread_df"
]
LONGEST = 60  # letters of a text in a file name
EDITIONS: tuple[EditionName, ...] = ("smoke", "cpu", "paper")


def _printable(text: str) -> str:
    if not text.isprintable():  # no line breaks in tables, no escape sequences on terminals
        raise ValueError("only printable characters are allowed")
    return text


def _an_id(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?", text):
        raise ValueError("an id is made of a-z, 0-9, - and at most one /, such as full-class/cifar10")
    return text


def _a_preset(text: str) -> str:
    if text not in ("auto", "paper") and not re.fullmatch(r"[\w-][\w.-]*\.toml", text):
        raise ValueError("a preset is auto, paper, or the name of a TOML file beside this one")
    return text


def file_name(experiment: str) -> str:
    """An id, fit for a file name; no two ids have the same, so where - may have been a / it says which was.

    >>> file_name("full-class/cifar10"), file_name("full-class-cifar10"), file_name("full/class-cifar10")
    ('full-class-cifar10', 'full-class-cifar10+0', 'full-class-cifar10+4')
    """
    plain = experiment.replace("/", "-")
    at = max(experiment.find("/"), 0)
    return plain if at == max(plain.rfind("-"), 0) else f"{plain}+{at}"


def safe_name(text: str) -> str:
    """Any text as a part of a file name: short, in one folder; a digest tells apart what else would look the same.

    >>> safe_name("he-resnet8"), safe_name("../Two.npz"), safe_name("../two.npz")
    ('he-resnet8', '..-two.npz-2bf366ce', '..-two.npz-d3007388')
    """
    plain = re.sub(r"[^a-z0-9._-]+", "-", text.lower())[:LONGEST]
    return plain if plain == text else f"{plain}-{sha256(text.encode())[:8]}"


Id = Annotated[str, Field(max_length=80), AfterValidator(_an_id)]
Preset = Annotated[str, AfterValidator(_a_preset)]
Text = Annotated[str, Field(max_length=600), AfterValidator(_printable)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
Count = Annotated[int, Field(ge=1)]
Few = Count | Literal["all"]
Budget = Annotated[int, Field(ge=0)] | Literal["all"]  # 0: of methods that read no retained record
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Declared(BaseModel):
    """Read-only, and nothing is taken that is not declared."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
