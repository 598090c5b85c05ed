"""Records that are given as never seen, but whose image the network was trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import torch

from ..errors import InputRefused
from ..splits import Part
from .result import Skipped

COMPARED = 200_000  # training records at most: each is read once more
BATCH = 1000


def without_copies(control: Part, trained: Part) -> tuple[Part, list[Skipped]]:
    """The records of `control` whose image, byte for byte, is no training record's; and what was left out."""
    looked = trained.sample(COMPARED)
    seen = set(digests(looked))
    fresh = torch.tensor([digest not in seen for digest in digests(control)], dtype=torch.bool)
    if not fresh.any():
        raise InputRefused(
            "All records that are given as never seen are copies of training records.",
            "Judge by records that no network under audit was trained on.",
        )
    left_out = list[Skipped]()
    if copies := int((~fresh).sum()):
        left_out.append(Skipped(what=f"{copies} never-seen records", why="their images are copies of training records"))
    if len(looked) < len(trained):
        why = f"only {len(looked):,} of {len(trained):,} training records were compared"
        left_out.append(Skipped(what="search for copies among never-seen records", why=why))
    return control.where(fresh), left_out


def digests(part: Part) -> Iterator[bytes]:
    """One per record: of its pixels alone."""
    for rows in part.rows.split(BATCH):
        for image in part.data.read(rows)[0].contiguous().numpy():
            yield hashlib.blake2b(image.tobytes(), digest_size=16).digest()
