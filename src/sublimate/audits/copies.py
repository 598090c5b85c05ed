"""Records that are not what they are given as: never-seen ones that were trained on, forgotten ones that were kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InputRefused
from ..splits import Part
from .result import Skipped

COMPARED = 200_000  # training records at most: each is read once more
BATCH = 1000


@dataclass(frozen=True, eq=False)
class Trained:
    """A digest of the image of each training record, by its row; of at most `COMPARED` of them."""

    part: Part
    digests: dict[int, bytes]

    @classmethod
    def read(cls, part: Part) -> Trained:
        """One pass over the training records."""
        looked = part.sample(COMPARED)
        return cls(part, dict(zip(looked.rows.tolist(), digests(looked), strict=True)))


def without_copies(control: Part, trained: Trained) -> tuple[Part, list[Skipped]]:
    """The records of `control` whose image, byte for byte, is no training record's; and what was left out."""
    seen = set(trained.digests.values())
    fresh = torch.tensor([digest not in seen for digest in digests(control)], dtype=torch.bool)
    if not fresh.any():
        raise InputRefused(
            "All records that are given as never seen are copies of training records.",
            "Judge by records that no network under audit was trained on.",
        )
    left_out = list[Skipped]()
    if copies := int((~fresh).sum()):
        left_out.append(Skipped(what=f"{copies} never-seen records", why="their images are copies of training records"))
    if len(trained.digests) < len(trained.part):
        why = f"only {len(trained.digests):,} of {len(trained.part):,} training records were compared"
        left_out.append(Skipped(what="search for copies of training records", why=why))
    return control.where(fresh), left_out


def without_kept(forget: Part, retained: Tensor, trained: Trained) -> tuple[Part, list[Skipped]]:
    """The forgotten records of which no copy was kept: the network may well know what it is still trained on."""
    kept = {trained.digests[row] for row in retained.tolist() if row in trained.digests}
    known = [trained.digests.get(row) for row in forget.rows.tolist()]
    missing = digests(forget.where(torch.tensor([digest is None for digest in known], dtype=torch.bool)))
    own = [next(missing) if digest is None else digest for digest in known]
    gone = torch.tensor([digest not in kept for digest in own], dtype=torch.bool)
    if not gone.any():
        raise InputRefused(
            "Of every forgotten record a copy, pixel by pixel, is among the retained ones.",
            "Name the copies in the request too: as long as they are kept, nothing is forgotten.",
        )
    if gone.all():
        return forget, []
    why = "a copy of each, pixel by pixel, is among the retained ones: it was kept, and the network may know it"
    return forget.where(gone), [Skipped(what=f"{int((~gone).sum())} forgotten records", why=why)]


def digests(part: Part) -> Iterator[bytes]:
    """One per record: of its pixels alone."""
    for rows in part.rows.split(BATCH):
        for image in part.data.read(rows)[0].contiguous().numpy():
            yield hashlib.blake2b(image.tobytes(), digest_size=16).digest()
