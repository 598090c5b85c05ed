"""The machine: device, memory allocator, peak memory."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys

import torch

from .errors import ResourceError, UsageError

MOST_THREADS = 256  # on a machine with fewer cores; more threads than that only wait


def keep_pages() -> None:
    """Let glibc's malloc keep freed pages; networks on the CPU run about 1.3 times faster.

    Only the command line does this: the process is its own.  Elsewhere (musl, macOS, Windows) nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(ctypes.util.find_library("c") or "libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    trim_threshold, mmap_threshold, one_gibibyte = -1, -3, 1 << 30
    mallopt(mmap_threshold, one_gibibyte)
    mallopt(trim_threshold, one_gibibyte)


def find_device(name: str) -> str:
    """A device that is there.

    >>> find_device("cpu")
    'cpu'
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    unknown = UsageError(f"No device {name!r}.", "Give cpu, cuda, cuda:1, mps or auto.")
    try:
        kind = torch.device(name).type
    except RuntimeError:
        raise unknown from None
    if kind not in ("cpu", "cuda", "mps"):
        raise unknown
    if (kind == "cuda" and not torch.cuda.is_available()) or (kind == "mps" and not torch.backends.mps.is_available()):
        raise ResourceError(f"This machine has no {kind} device.", "Give --device cpu or --device auto.")
    return name


def check_threads(count: int) -> int:
    """The number of threads, if a machine can start so many."""
    most = max(MOST_THREADS, os.cpu_count() or 1)
    if not 1 <= count <= most:
        raise UsageError(f"There cannot be {count} threads.", f"Give 1 to {most}.")
    return count
