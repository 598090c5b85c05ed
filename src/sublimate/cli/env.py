"""`sublimate env`: what to paste into a bug report."""

from __future__ import annotations

from .common import Device, Json, Quiet, Seed, Threads, start

EXAMPLE = "sublimate env"


def _cache() -> str | None:
    from ..cache import cache_dir
    from ..errors import ResourceError

    try:
        return str(cache_dir())
    except ResourceError:  # no home: worth telling, too
        return None


def run(
    seed: Seed = 0, threads: Threads = None, device: Device = "auto", json: Json = False, quiet: Quiet = False
) -> None:
    """Versions, device, threads and where things are kept."""
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import torch

    from ..networks import versions

    del seed  # every command takes one, and nothing is random here
    (ui, used), found = start(threads, device, json, quiet), versions()
    for package in ("scikit-learn", "kornia", "pillow", "plotly", "typer", "rich"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    facts = {
        "versions": found,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": used,
        "cache": _cache(),
        "data": os.environ.get("SUBLIMATE_DATA"),
    }
    for name, value in (found | {k: v for k, v in facts.items() if k != "versions"}).items():
        ui.say(f"{name:<14}{value if value is not None else '(not set)'}")
    ui.result(facts)
