"""WHICH rows: a request and a data table become a `Split`.  With `selecting.py` the only maker of indices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from typing import Literal, SupportsIndex

import torch
from torch import Tensor

from .data.core import Data
from .errors import InputRefused, check_is
from .randomness import stream
from .request import FORMS, FullClass, Records, Request, SubClass, parse
from .selecting import never_seen, rows_of, selected, stratified

GIVE_DATA = "Give what sublimate.load or Data.from_dataset returns."


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a data table: what a method reads."""

    data: Data
    rows: Tensor
    name: str
    counts: Tensor | None = None  # records of each class in D, where that is known

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> Tensor:
        """Class numbers of these rows."""
        return self.data.labels[self.rows]

    @cached_property
    def first(self) -> Tensor:
        """The first image, as stored and as a batch of one: what a network must be able to take; read only once."""
        return self.data.read(self.rows[:1])[0]

    def where(self, keep: Tensor) -> Part:
        """The rows where `keep` is true."""
        return replace(self, rows=self.rows[keep])

    def sample(self, most: int, seed: int = 0) -> Part:
        """At most so many of the rows, drawn by a seed."""
        return self if len(self) <= most else self.where(self.places(most, seed))

    def places(self, most: int, seed: int = 0) -> Tensor:
        """Where `sample` finds its rows in this part."""
        if len(self) <= most:
            return torch.arange(len(self))
        return torch.randperm(len(self), generator=stream(seed, "sample", self.name))[:most].sort().values


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Index arrays into one data table, made in one place.

    Anything chosen (learning rate, stopping) is chosen on `val`; what judges the result is `control` and the test set.
    Equal fingerprints mean: the same data, the same forgotten rows, the same excluded rows.
    """

    data: Data
    request: Request
    forget: Tensor
    retain: Tensor
    few: Tensor  # S_r: seeded, stratified over the classes that remain
    val: Tensor  # never-seen rows for choosing
    control: Tensor  # never-seen rows for judging
    ratios: Tensor  # r_k, over the whole training set
    counts: Tensor  # records of each class in D, without those that were forgotten earlier
    excluded: Tensor  # forgotten earlier: in no other part
    fingerprint: str
    notes: tuple[str, ...] = ()

    @property
    def forget_set(self) -> Part:
        """D_f."""
        return Part(self.data, self.forget, "forget", self.counts)

    @property
    def retain_set(self) -> Part:
        """D_r."""
        return Part(self.data, self.retain, "retain", self.counts)

    @property
    def few_set(self) -> Part:
        """S_r, the few retained records that a method may read."""
        return Part(self.data, self.few, "retain", self.counts)

    @property
    def val_set(self) -> Part | None:
        """Never-seen records for choosing, or None when the data has no test and no validation rows."""
        return Part(self.data, self.val, "val") if len(self.val) else None

    @property
    def named_classes(self) -> Tensor | None:
        """The classes a class request names (the paper's forgetting classes); None for other requests."""
        if isinstance(self.request, FullClass | SubClass):
            return torch.tensor([self.data.classes.index(name) for name in self.request.names])
        return None

    @property
    def remaining(self) -> Tensor:
        """Whether anything of each class is left after this request."""
        return (self.ratios < 1) & (self.counts > 0)

    @property
    def gone_earlier(self) -> Tensor:
        """The classes of which nothing was left before this request; of others there never was a record."""
        absent = (self.counts == 0).nonzero().flatten()
        return absent[torch.isin(absent, self.data.labels[self.excluded])]

    @property
    def val_from_test(self) -> bool:
        """Whether `val` was taken out of the test set."""
        return self.data.sizes[2] == 0 and len(self.val) > 0


def split(
    data: Data,
    request: Request | str,
    few: int | Literal["all"] = 1000,
    seed: int = 0,
    exclude: Iterable[str] = (),
) -> Split:
    """Find the rows a request names and everything that follows from them.

    >>> from sublimate.data import load
    >>> s = split(load("digits"), "class:3", few=100)
    >>> len(s.few), bool((s.data.labels[s.retain] == 3).any()), s.ratios[3].item()
    (100, False, 1.0)
    """
    check_is("data", data, Data, GIVE_DATA)
    check_is("seed", seed, SupportsIndex, "Give a whole number.")
    request = parse(request, data.classes, data.ids) if isinstance(request, str) else request
    _check_arguments(request, few, exclude)
    excluded = rows_of(data, tuple(dict.fromkeys(map(str, exclude))))
    alive = torch.ones(data.sizes[0], dtype=torch.bool)
    alive[excluded] = False
    forget = selected(data, request, alive, seed)
    remaining = alive.clone()
    remaining[forget] = False
    retain = remaining.nonzero().flatten()
    if len(retain) == 0:
        raise InputRefused("The request forgets everything.", "Leave some records that the network may keep.")
    val, control = never_seen(data)
    counts = _class_sizes(data, alive)
    return Split(
        data=data,
        request=request,
        forget=forget,
        retain=retain,
        few=retain if few == "all" else stratified(data.labels, retain, index(few), seed),
        val=val,
        control=control,
        ratios=data.labels[forget].bincount(minlength=len(counts)) / counts.clamp(min=1),
        fingerprint=_fingerprint(data, forget, excluded),
        counts=counts,
        excluded=excluded,
        notes=_notes(request, len(excluded)),
    )


def _notes(request: Request, excluded: int) -> tuple[str, ...]:
    repeated = request.repeated if isinstance(request, Records) else 0
    found = {
        f"Ids named again were counted once ({repeated} repetition{'' if repeated == 1 else 's'}).": repeated,
        f"Left out of every part, for they were forgotten earlier: {excluded} records.": excluded,
    }
    return tuple(note for note, count in found.items() if count)


def _check_arguments(request: object, few: object, exclude: object) -> None:
    if not isinstance(request, Request):
        raise InputRefused(f"{request!r} is no request.", f"Give one of FullClass, SubClass, …, or a text: {FORMS}.")
    if few != "all" and (not isinstance(few, SupportsIndex) or isinstance(few, bool)):
        raise InputRefused(f"few={few!r} is no number of records.", 'Give a whole number, or "all".')
    if isinstance(exclude, str) or not isinstance(exclude, Iterable):
        what = "one string" if isinstance(exclude, str) else "no list"
        raise InputRefused(f"exclude={exclude!r} is {what}.", "Give a list of record ids.")


def _class_sizes(data: Data, alive: Tensor) -> Tensor:
    k = len(data.classes)
    whole = torch.bincount(data.labels[: len(alive)][alive], minlength=k)
    if data.class_counts is not None:
        gone_before = torch.bincount(data.labels[: len(alive)][~alive], minlength=k)
        whole = torch.tensor(data.class_counts) - gone_before
    return whole


def _fingerprint(data: Data, forget: Tensor, excluded: Tensor) -> str:
    h = hashlib.sha256(data.fingerprint.encode())
    for rows in (forget, excluded):
        h.update("\n".join(data.ids[int(r)] for r in rows).encode() + b"\0")
    return h.hexdigest()[:16]


def same(a: str | None, b: str | None, what: str) -> None:
    """Refuse to compare things that belong to different splits."""
    if a is not None and b is not None and a != b:
        raise InputRefused(
            f"{what} belongs to split {a}, this request to split {b}.",
            "Compare only what was made with the same data, request, exclusion and seed.",
        )
