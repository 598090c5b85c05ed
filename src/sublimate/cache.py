"""Where Sublimate keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """`$SUBLIMATE_CACHE`, else the folder `sublimate` in `$XDG_CACHE_HOME` or `~/.cache`; it may not exist yet."""
    if own := os.environ.get("SUBLIMATE_CACHE"):
        return Path(own).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path is to be ignored.
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "sublimate"
