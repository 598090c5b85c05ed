"""Files that are whole or not there: atomic writes, and refusals that name the cause."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .errors import InputRefused, ResourceError

AnyPath = str | os.PathLike[str]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR}
_LONG = 100  # bytes of a name


def write_whole(path: AnyPath, data: bytes) -> None:
    """Write so that, whatever happens, the file is wholly the old or wholly the new one, also after power loss."""
    _check_regular(Path(path))
    target = Path(path).resolve()  # through a link, as plain writing would
    temporary = target.with_name(f".{_stem(target)}.{_host()}.{os.getpid()}.{secrets.token_hex(4)}.partial")
    try:
        try:
            _write_synced(temporary, data, mode=_mode(target))
            os.replace(temporary, target)
        except BaseException:
            _remove(temporary)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise _unwritable(target, error) from error


def rewrite(path: AnyPath, data: bytes) -> None:
    """Write a file that is written again and again: its folder is made, and what killed writers left is removed."""
    make_folder(Path(path).parent)
    remove_stale(path)
    write_whole(path, data)


def check_writable(path: AnyPath) -> None:
    """Refuse a target that could not be written, before anything is computed for it."""
    _check_regular(Path(path))
    target = Path(path).resolve()
    try:
        # Really tried: permission bits do not bind every user, and a whole disk may be read-only.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise _unwritable(target, error) from error


def check_outputs(outputs: Iterable[AnyPath | None], inputs: Iterable[AnyPath | None] = ()) -> None:
    """Refuse outputs that are alike, that are inputs or lie in a folder which is one, or that could not be written."""
    written, read = ([Path(path) for path in paths if path is not None] for paths in (outputs, inputs))
    for number, path in enumerate(written):
        if any(_same(path, other) for other in written[:number]):
            raise InputRefused(f"{path} is named for two outputs.", "Give each of them its own name.")
        if any(_same(path, other) or _inside(path, other) for other in read):
            raise InputRefused(f"{path} is read by this very command.", "Give what is written another name.")
    for path in written:
        check_writable(path)
        remove_stale(path)


def remove_stale(path: AnyPath) -> None:
    """Remove what killed writers of this path left behind; writers that live, and other hosts', are left alone."""
    target = Path(path).resolve()
    ours = re.compile(rf"\.{re.escape(_stem(target))}\.{re.escape(_host())}\.(\d+)\.[0-9a-f]{{8}}\.partial")
    if not target.parent.is_dir():
        return
    for entry in os.listdir(target.parent):
        if (match := ours.fullmatch(entry)) and not _alive(int(match[1])):
            _remove(target.parent / entry)


def make_folder(path: AnyPath) -> None:
    """Make the folder and those above it, where missing."""
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError as error:
        raise ResourceError(f"{path} is a file, not a folder.", "Give the path of a folder.") from error
    except OSError as error:
        raise _unwritable(Path(path), error) from error


def read_bytes(path: AnyPath) -> bytes:
    """The whole file."""
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputRefused(f"There is no file {path}.", "Check the path.") from error
    except IsADirectoryError as error:
        raise InputRefused(f"{path} is a folder.", "Give the path of a file.") from error
    except PermissionError as error:
        raise ResourceError(f"No permission to read {path}.", "Grant it, or copy the file elsewhere.") from error
    except OSError as error:
        raise ResourceError(f"{path} cannot be read ({error.strerror}).", "Check the disk, then try again.") from error


def sha256(source: AnyPath | bytes) -> str:
    """SHA-256 of bytes, or of the file at a path, in hexadecimal.

    >>> sha256(b"abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(source if isinstance(source, bytes) else read_bytes(source)).hexdigest()


def _same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)  # hard links; letters of either case


def _inside(path: Path, folder: Path) -> bool:
    return folder.is_dir() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _check_regular(path: Path) -> None:
    """Refuse what a file would replace though it is none: a folder, a device, a pipe."""
    try:
        if path.is_dir():
            raise ResourceError(f"{path} is a folder.", "Give the path of a file.")
        if path.exists() and not path.is_file():
            raise ResourceError(f"{path} is a device or a pipe, not a file.", "Give the path of a file.")
    except OSError as error:
        raise _unwritable(path, error) from error


def _stem(target: Path) -> str:
    # A legal name may be so long that nothing can be added to it.
    name = target.name
    return name if len(name.encode()) <= _LONG else hashlib.sha256(name.encode()).hexdigest()


def _write_synced(path: Path, data: bytes, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _mode(target: Path) -> int:
    # A private file stays private when it is replaced.
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # a leftover is no reason to hide the error that led here


def _host() -> str:
    # Process numbers mean nothing on another host that shares the folder.
    return re.sub(r"[^\w-]", "-", platform.node()) or "host"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _unwritable(target: Path, error: OSError) -> ResourceError:
    if error.errno in _FULL:
        return ResourceError(f"The disk is full: {target} was not written.", "Free some space, then try again.")
    if error.errno in _FORBIDDEN:
        return ResourceError(f"No permission to write in {target.parent}.", "Grant it, or choose another folder.")
    if error.errno in _NO_FOLDER:
        return ResourceError(f"There is no folder {target.parent}.", "Create it, or choose another folder.")
    return ResourceError(f"{target} cannot be written ({error.strerror or error}).", "Choose another path or disk.")
