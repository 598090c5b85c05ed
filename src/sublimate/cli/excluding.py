"""What was forgotten earlier is left out of every part: by what the file tells, and by --exclude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError

if TYPE_CHECKING:
    from ..data.core import Data
    from ..networks import Network
    from ..splits import Split

Exclude = Annotated[
    list[str],
    typer.Option("--exclude", metavar="REQUEST", help="Forgotten earlier; our own files know it. May be repeated."),
]
Ids = tuple[str, ...]


def named(requests: Sequence[str], data: Data, seed: int) -> Ids:
    """The ids that earlier requests named, each drawn as it was then: without those before it."""
    from ..splits import split

    gone: Ids = ()
    for request in requests:
        chosen = split(data, request, seed=seed, exclude=gone)
        gone += tuple(data.ids[int(row)] for row in chosen.forget)
    return gone


def excluded(network: Network, requests: Sequence[str], seed: int) -> Ids:
    """What this network had forgotten before the request."""
    from ..forgotten import recognised

    return recognised(network.forgotten, network.data.ids) + named(requests, network.data, seed)


def asked(networks: Sequence[Network], request: str, requests: Sequence[str], seed: int) -> Split:
    """The split of a request that one of the networks may have served, or that comes after the first of them."""
    from ..forgotten import recognised
    from ..splits import split

    data, given = networks[0].data, named(requests, networks[0].data, seed)
    for network in networks:
        earlier = {salt: text for salt, text in network.forgotten.items() if salt != network.split}
        before = recognised(earlier, data.ids) + given
        if network.split in network.forgotten and (found := _made(network, request, before, seed)):
            return found
    return split(data, request, seed=seed, exclude=excluded(networks[0], requests, seed))


def _made(network: Network, request: str, before: Ids, seed: int) -> Split | None:
    """The split, if it is the one that this network was made by."""
    from ..errors import InputRefused
    from ..splits import split

    try:
        found = split(network.data, request, seed=seed, exclude=before)
    except InputRefused:  # other networks may have served the request, and else the refusal comes again
        return None
    return found if found.fingerprint == network.split else None


def precedes(network: Network, chosen: Split) -> bool:
    """Whether the request comes after all that this network has forgotten."""
    from ..forgotten import recognised

    ids = chosen.data.ids
    gone = recognised(network.forgotten, ids)
    return bool(gone) and set(gone) <= {ids[int(row)] for row in chosen.excluded}


def check_forget(forget: str | None, requests: Sequence[str]) -> None:
    """Refuse an exclusion without a request."""
    if requests and forget is None:
        raise UsageError("--exclude is given without --forget.", "Give both, or none.")
