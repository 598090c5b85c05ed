"""Files of `torch.save`, read with torch's restricted unpickler alone; there is no other way in."""

from __future__ import annotations

import io
import pickle
import re
import warnings
import zipfile

import torch

from ..errors import InputRefused, IntegrityError
from .checks import too_large

_REMEDY = "Save `model.state_dict()` with torch.save, or use safetensors."
_MOST_ENTRIES = 100_000
_SAFE_SINCE = "2.10"  # before, crafted files could break out of the restricted unpickler (CVE-2026-24747)


def is_torch(data: bytes) -> bool:
    """Whether the bytes begin like a file of `torch.save`: a zip archive, or a pickle before torch 1.6."""
    return data.startswith((b"PK\x03\x04", b"\x80"))


def unpickle(name: str, data: bytes) -> object:
    """The object in the file, made of tensors and plain containers only."""
    if torch.__version__ < _SAFE_SINCE:  # compares versions, not letters
        raise InputRefused(
            f"torch {torch.__version__} cannot read pickled files such as {name} safely.",
            "Use torch 2.10 or newer, or a safetensors file.",
        )
    if data.startswith(b"PK"):
        _check_archive(name, data)
    try:
        with warnings.catch_warnings(action="ignore"):
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True, mmap=False)
    except pickle.UnpicklingError as error:
        raise InputRefused(f"{name} cannot be read without running code of it{_culprit(error)}.", _REMEDY) from error
    except Exception as error:  # damaged bytes make the unpickler fail in any way there is
        raise IntegrityError(f"{name} is truncated or damaged.", "Restore it from a good copy.") from error


def _check_archive(name: str, data: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_contents(name, archive, len(data))
            damaged = archive.testzip()
    except InputRefused:
        raise
    except Exception as error:  # zipfile has no common base for what damaged archives raise
        raise IntegrityError(f"{name} is truncated or damaged.", "Restore it from a good copy.") from error
    if damaged is not None:
        raise IntegrityError(f"The entry {damaged!r} of {name} is damaged.", "Restore it from a good copy.")


def _check_contents(name: str, archive: zipfile.ZipFile, file_size: int) -> None:
    entries = archive.infolist()
    if len(entries) > _MOST_ENTRIES or too_large(sum(e.file_size for e in entries), file_size):
        raise InputRefused(f"{name} unfolds far beyond its size.", _REMEDY)
    names = {entry.filename.rpartition("/")[2] for entry in entries}
    if "data.pkl" not in names or "constants.pkl" in names:
        raise InputRefused(f"{name} is an archive, but not of a state dict (TorchScript or other).", _REMEDY)


def _culprit(error: pickle.UnpicklingError) -> str:
    found = re.search(r"GLOBAL ([\w.]+)|module ([\w.]+) is blocked", str(error))
    return f" (it asks for {found[1] or found[2]})" if found else ""
