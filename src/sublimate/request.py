"""WHAT shall be forgotten: whole classes, a share of a class, a random share, or named records."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import ClassVar

from .errors import InputRefused, ResourceError, check_is

FORMS = "class:cat,truck · class:automobile@90% · random@10% · ids:FILE · id:7,19"


@dataclass(frozen=True, init=False)
class FullClass:
    """All records of the named classes.

    >>> FullClass("cat", "truck").text
    'class:cat,truck'
    """

    scenario: ClassVar[str] = "full-class"
    share: ClassVar[float] = 1.0
    names: tuple[str, ...]

    def __init__(self, *names: str | int) -> None:
        for name in names:
            check_is("A class", name, str | Integral, "Name the classes one by one: FullClass('cat', 'truck').")
        object.__setattr__(self, "names", tuple(dict.fromkeys(map(str, names))))

    @property
    def text(self) -> str:
        """The request as one writes it on the command line."""
        return f"class:{','.join(self.names)}"


@dataclass(frozen=True)
class SubClass:
    """A seeded random share of one class.

    >>> SubClass("automobile", 0.9).text
    'class:automobile@90%'
    """

    scenario: ClassVar[str] = "sub-class"
    name: str
    share: float

    def __post_init__(self) -> None:
        check_is("A class", self.name, str | Integral, "Give one name: SubClass('cat', 0.5).")
        object.__setattr__(self, "name", str(self.name))
        _check_share(self.share)

    @property
    def names(self) -> tuple[str, ...]:
        """The class, as a request for whole classes names several."""
        return (self.name,)

    @property
    def text(self) -> str:
        """The request as one writes it on the command line."""
        return f"class:{self.name}@{100 * self.share:g}%"


@dataclass(frozen=True)
class RandomFraction:
    """A seeded random share of all training records.

    >>> RandomFraction(0.1).text
    'random@10%'
    """

    scenario: ClassVar[str] = "random"
    share: float

    def __post_init__(self) -> None:
        _check_share(self.share)

    @property
    def text(self) -> str:
        """The request as one writes it on the command line."""
        return f"random@{100 * self.share:g}%"


@dataclass(frozen=True, init=False)
class Records:
    """Records named by their ids; `repeated` of them were named more than once.

    >>> Records("7", "19", "7")
    Records(ids=('7', '19'), repeated=1)
    """

    scenario: ClassVar[str] = "records"
    ids: tuple[str, ...]
    repeated: int

    def __init__(self, *ids: str | int) -> None:
        object.__setattr__(self, "ids", tuple(dict.fromkeys(map(str, ids))))
        object.__setattr__(self, "repeated", len(ids) - len(self.ids))

    @property
    def text(self) -> str:
        """The request as one writes it on the command line; long lists are shortened."""
        return f"id:{','.join(self.ids)}" if len(self.ids) <= 5 else f"{len(self.ids)} records"


Request = FullClass | SubClass | RandomFraction | Records


def parse(text: str, classes: Sequence[str] = (), ids: Sequence[str] = ()) -> Request:
    """Read a request as written on the command line; a text that is one known name as a whole is read as that name.

    >>> parse("class:cat,truck")
    FullClass(names=('cat', 'truck'))
    >>> parse("class:automobile@90%")
    SubClass(name='automobile', share=0.9)
    >>> parse("random@10%")
    RandomFraction(share=0.1)
    >>> parse("class:cat,truck", classes=["cat,truck", "dog"])
    FullClass(names=('cat,truck',))
    >>> parse("class:cat,truck@50%", classes=["cat,truck", "dog"])
    SubClass(name='cat,truck', share=0.5)
    """
    kind, _, value = text.partition(":")
    known = set(classes if kind == "class" else ids)
    if kind in ("class", "id") and _named(value, known) in known:
        return FullClass(_named(value, known)) if kind == "class" else Records(_named(value, known))
    name, _, part = value.rpartition("@")
    if kind == "class" and part.endswith("%") and _named(name, known) in known:
        return SubClass(_named(name, known), _share(part[:-1], text))
    names = tuple(filter(None, (_named(one, known) for one in value.split(","))))
    if random := re.fullmatch(r"random@(.+)%", text):
        return RandomFraction(_share(random[1], text))
    if kind == "class" and (partial := re.fullmatch(r"([^,]+)@([^@,%]+)%", value)):
        return SubClass(partial[1].strip(), _share(partial[2], text))
    if kind == "class" and names and not (len(names) > 1 and any(re.search(r"@.+%$", name) for name in names)):
        return FullClass(*names)
    if kind == "id" and names:
        return Records(*names)
    if kind == "ids" and value:
        return Records(*_lines(Path(value), known))
    raise InputRefused(f"The request {text!r} cannot be read.", f"Write one of: {FORMS}.")


def _named(text: str, known: Collection[str]) -> str:
    """A name as it is written, where it is known so; else without the blanks around it."""
    return text if text in known else text.strip()


def _share(number: str, text: str) -> float:
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise InputRefused(f"The request {text!r} names no share between 0 and 100 %.", "Write, say, random@10%.")
    return share


def _check_share(share: float) -> None:
    check_is("A share", share, Real, "Give a number, say 0.1 for 10 %.")
    if not 0 < share <= 1:
        raise InputRefused(f"A share of {share:g} is not between 0 and 1.", "Write, say, RandomFraction(0.1) for 10 %.")


def _lines(path: Path, known: Collection[str]) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise InputRefused(f"There is no file {path}.", "Give a text file with one record id a line.") from None
    except (UnicodeDecodeError, IsADirectoryError):
        raise InputRefused(f"{path} is not a text file.", "Give a text file with one record id a line.") from None
    except PermissionError:
        raise ResourceError(f"{path} may not be read.", "Give yourself permission to read it.") from None
    except (OSError, ValueError):
        raise InputRefused(f"{str(path)!r} is no file.", "Give a text file with one record id a line.") from None
    ids = [name if (name := _named(line, known)) in known else _without_comment(line) for line in lines]
    if not any(ids):
        raise InputRefused(f"{path} names no record.", "Write one record id a line.")
    return [i for i in ids if i]


def _without_comment(line: str) -> str:
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()  # an id may hold a #
