"""Where Sublimate keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import ResourceError


def cache_dir() -> Path:
    """`$SUBLIMATE_CACHE`, else the folder `sublimate` in `$XDG_CACHE_HOME` or `~/.cache`; it may not exist yet."""
    if own := os.environ.get("SUBLIMATE_CACHE"):
        return Path(os.path.expanduser(own))
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path is to be ignored.
    return (shared if shared.is_absolute() else _home() / ".cache") / "sublimate"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise ResourceError(
            "There is no home folder to keep things in.", "Let SUBLIMATE_CACHE name a folder."
        ) from None
