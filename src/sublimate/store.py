"""Artifacts under the SHA-256 of their bytes, names for them, and one rewritable state per unfinished run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from .cache import cache_dir
from .errors import InputRefused, IntegrityError
from .files import AnyPath, read_bytes, remove_stale, rewrite, sha256

_MAGIC = b"sublimate state 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size


class Store:
    """Content-addressed artifacts; whatever is read from it has been verified.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> store = Store(folder.name)
    >>> digest = store.put(b"weights")
    >>> store.link("retrain seed=0", digest)
    >>> store.get(store.find("retrain seed=0"))
    b'weights'
    """

    def __init__(self, root: AnyPath | None = None) -> None:
        self.root = Path(root) if root is not None else cache_dir() / "store"

    def put(self, data: bytes) -> str:
        """Keep the bytes; their digest is the way back to them."""
        digest = sha256(data)
        path = self._object(digest)
        if not path.exists() or sha256(path) != digest:  # a damaged copy is replaced, not believed
            rewrite(path, data)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes with this digest; a damaged file is moved aside, so that it can be made anew."""
        path = self._object(digest)
        if not path.exists():
            raise IntegrityError(f"The store has no object {digest}.", "Run the step that makes it again.")
        data = read_bytes(path)
        if sha256(data) != digest:
            with contextlib.suppress(OSError):  # another reader may have moved it first
                os.replace(path, path.with_suffix(".damaged"))
            raise IntegrityError(
                f"The stored object {digest} is damaged; it was moved aside.", "Run the step that makes it again."
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether an object of this digest is there."""
        return self._object(digest).exists()

    def link(self, key: str, digest: str) -> None:
        """Let the key name this object from now on."""
        self._object(digest)  # refuses what is no digest
        rewrite(self._named("names", key), digest.encode())

    def find(self, key: str) -> str | None:
        """The digest the key names; None when there is none, or the object is gone."""
        path = self._named("names", key)
        if not path.exists():
            return None
        digest = read_bytes(path).decode(errors="replace")
        return digest if _is_digest(digest) and self.has(digest) else None

    def slot(self, key: str) -> Slot:
        """The saved state of the unfinished run with this key."""
        return Slot(self._named("slots", key))

    def _object(self, digest: str) -> Path:
        if not _is_digest(digest):
            raise InputRefused(f"{digest!r} is no SHA-256.", "Give its 64 hexadecimal digits.")
        return self.root / "objects" / digest[:2] / digest

    def _named(self, folder: str, key: str) -> Path:
        return self.root / folder / sha256(key.encode())


@dataclass(frozen=True)
class Slot:
    """One state file, rewritten whole; a torn or flipped state counts as none.

    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> slot = Store(folder.name).slot("run 7")
    >>> slot.save(b"step 100"); slot.save(b"step 200"); slot.load()
    b'step 200'
    >>> slot.clear(); slot.load() is None
    True
    """

    path: Path

    def save(self, data: bytes) -> None:
        """Replace the state."""
        rewrite(self.path, _MAGIC + hashlib.sha256(data).digest() + data)

    def load(self) -> bytes | None:
        """The last whole state, or None."""
        remove_stale(self.path)
        if not self.path.exists():
            return None
        sealed = read_bytes(self.path)
        start = len(_MAGIC) + _DIGEST_SIZE
        digest, data = sealed[len(_MAGIC) : start], sealed[start:]
        return data if sealed.startswith(_MAGIC) and hashlib.sha256(data).digest() == digest else None

    def clear(self) -> None:
        """Forget the state."""
        remove_stale(self.path)
        self.path.unlink(missing_ok=True)


def _is_digest(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None
