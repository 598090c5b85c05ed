"""Which networks may be compared with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputRefused

if TYPE_CHECKING:
    from ..networks import Network
    from ..splits import Split


def check_comparable(network: Network, original: Network, chosen: Split) -> None:
    """Refuse a network of another split, or one that takes other images than the original does."""
    from ..splits import same

    same(network.split, chosen.fingerprint, network.path.name)
    mine, its = original.data, network.data
    if (its.fingerprint, its.mean, its.std) != (mine.fingerprint, mine.mean, mine.std):
        raise InputRefused(
            f"{network.path.name} was trained with other canaries or another normalisation than {original.path.name}.",
            "Compare only networks that take the same data in the same way.",
        )


def check_retrain(network: Network, chosen: Split) -> None:
    """Refuse as a reference what says of itself that it is no Retrain; a foreign file says nothing."""
    from ..splits import same

    meta = network.checkpoint.meta
    if meta is None:
        return
    same(meta.split, chosen.fingerprint, network.path.name)
    made_by = meta.method["name"] if meta.method else None
    if meta.split is None or made_by not in (None, "retrain"):
        saw = f"was made by {made_by}" if made_by else "was trained on everything"
        raise InputRefused(
            f"{network.path.name} {saw}: it has seen what shall be forgotten.",
            "Make the reference with `sublimate train --forget` and the same request and seed.",
        )
