"""What a network has forgotten so far, kept in its file as salted digests: only who holds an id can match it."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence

from .errors import InputRefused
from .splits import Split

SIZE = 8  # bytes of a digest: among millions of records no two are alike


def sealed(ids: Iterable[str], salt: str) -> str:
    """The ids as digests, sorted, so that not even their order is told.

    >>> sealed(["7", "19"], "salt") == sealed(["19", "7"], "salt"), len(sealed(["7"], "salt"))
    (True, 12)
    """
    return b64encode(b"".join(sorted(_digest(salt, one) for one in ids))).decode()


def recognised(forgotten: Mapping[str, str], ids: Sequence[str]) -> tuple[str, ...]:
    """Those of the ids that were forgotten, whichever request it was.

    >>> recognised({"salt": sealed(["7", "19"], "salt")}, ["6", "7", "8"])
    ('7',)
    """
    known = {salt: _digests(text) for salt, text in forgotten.items()}
    return tuple(one for one in ids if any(_digest(salt, one) in found for salt, found in known.items()))


def remembered(earlier: Mapping[str, str], chosen: Split) -> dict[str, str]:
    """What is forgotten after this split: all of before, what was excluded beyond it, and its own records.

    The salt of a request is the fingerprint of its split: equal records leave no equal digests in two files.
    """
    ids, own = chosen.data.ids, chosen.fingerprint
    excluded = [ids[int(row)] for row in chosen.excluded]
    known = set(recognised(earlier, excluded))
    unknown = [one for one in excluded if one not in known]
    told = {f"before {own}": sealed(unknown, f"before {own}")} if unknown else {}
    return dict(earlier) | told | {own: sealed((ids[int(row)] for row in chosen.forget), own)}


def _digest(salt: str, one: str) -> bytes:
    return hashlib.sha256(f"{salt}\0{one}".encode()).digest()[:SIZE]


def _digests(text: str) -> set[bytes]:
    try:
        whole = b64decode(text, validate=True)
    except ValueError:
        raise InputRefused("The file names wrongly what was forgotten.", "Restore it from a good copy.") from None
    return {whole[place : place + SIZE] for place in range(0, len(whole), SIZE)}
