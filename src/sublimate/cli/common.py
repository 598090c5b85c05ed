"""Options that many commands share, and the set-up of a run."""

from __future__ import annotations

import json as jsonlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputRefused, ResourceError, UsageError
from .stopping import signals as signals
from .ui import Ui

if TYPE_CHECKING:
    from torch import nn

    from ..data.core import Data
    from ..networks import Network
    from ..store import Slot

RUN, FOREIGN = "Run", "Foreign files"

DataName = Annotated[
    str, typer.Option("--data", help="digits, fashion-mini, cifar10, cifar100, a folder, an .npz, or module:function.")
]
REQUEST = typer.Option(
    "--forget", help="class:cat,truck · class:automobile@90% · random@10% · ids:FILE · id:7,19", metavar="REQUEST"
)
Forget = Annotated[str | None, REQUEST]
Size = Annotated[int | None, typer.Option("--size", help="Resize images of a folder to this side.")]
Arch = Annotated[str | None, typer.Option("--arch", help="Built-in name or module:function.", rich_help_panel=FOREIGN)]
Mean = Annotated[str | None, typer.Option("--mean", help="0.485,0.456,0.406", rich_help_panel=FOREIGN)]
Std = Annotated[str | None, typer.Option("--std", help="0.229,0.224,0.225", rich_help_panel=FOREIGN)]
Seed = Annotated[int, typer.Option("--seed", help="Of everything random.", rich_help_panel=RUN)]
Threads = Annotated[int | None, typer.Option("--threads", help="CPU threads.", rich_help_panel=RUN)]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, mps or auto.", rich_help_panel=RUN)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, prose to stderr.", rich_help_panel=RUN)]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no prose.", rich_help_panel=RUN)]


def start(threads: int | None, device: str, json: bool, quiet: bool) -> tuple[Ui, str]:
    """The screen, and the device to use; sets threads and a malloc that keeps its pages."""
    import torch

    from ..runtime import check_threads, find_device, keep_pages

    keep_pages()
    if threads is not None:
        torch.set_num_threads(check_threads(threads))
    return Ui(json=json, quiet=quiet), find_device(device)


def numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Numbers separated by commas, in brackets or not.

    >>> numbers("[0.5, 0.25]", "--mean")
    (0.5, 0.25)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.strip("[]() ").split(","))
    except ValueError:
        raise InputRefused(f"{option} {text!r} is no list of numbers.", "Write, say, 0.485,0.456,0.406.") from None


def few_of(text: str | None, method: str) -> Any:
    """--few as a number or "all"; what the method asks for when it is not given."""
    if text is None:
        from ..unlearn import find

        return find(method).few
    if text != "all" and not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise UsageError(f"--few {text!r} is no number.", "Give a number of records, or all.")
    return text if text == "all" else int(text)


def options_of(pairs: list[str]) -> dict[str, Any]:
    """What was given as --set name=value."""
    from ..unlearn.options import from_text

    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--set {pair!r} names no value.", "Write, say, --set lr=1e-3.")
    return {name.strip(): from_text(value.strip()) for name, _, value in (pair.partition("=") for pair in pairs)}


def open_model(
    path: Path, data: Data, arch: str | None, mean: str | None, std: str | None, device: str, ui: Ui
) -> Network:
    """Load a network as the options describe it, and say what was assumed."""
    from ..networks import open_network

    network = open_network(
        path, data, arch=arch, mean=numbers(mean, "--mean"), std=numbers(std, "--std"), device=device
    )
    for note in network.notes:
        ui.note(note)
    return network


def own_factory(network: Network) -> Callable[[], nn.Module] | None:
    """What builds a network of the user's anew, for not every layer can be reset; ours can."""
    from ..models.registry import MODELS
    from ..networks import factory

    return None if network.architecture in MODELS else factory(network.architecture, network.data)


def inputs_of(data: str, requests: Iterable[str | None], *paths: Path | None) -> list[Path]:
    """The files that a command reads, so that none of them is written: paths, the data, and lists of ids."""
    listed = [Path(text.removeprefix("ids:")) for text in requests if text and text.startswith("ids:")]
    table = [Path(data, part) for part in ("train", "test", "val")] if Path(data).is_dir() else [Path(data)]
    return [*table, *(path for path in (*listed, *filter(None, paths)) if path.is_file())]


def slots_of(ui: Ui, *keys: str) -> tuple[Slot | None, ...]:
    """Where unfinished work is kept; nowhere, with a warning, when the cache folder cannot be written."""
    from ..files import check_writable, make_folder
    from ..store import Store

    try:
        slots = tuple(Store().slot(key) for key in keys)
        for slot in slots:
            make_folder(slot.path.parent)
            check_writable(slot.path)
    except ResourceError as error:
        ui.warn(f"{error.cause} Nothing of this run is saved before its end; SUBLIMATE_CACHE names another folder.")
        return tuple(None for _ in keys)
    return slots


def check_cache() -> None:
    """Refuse a cache folder that cannot be written, where nothing goes on without it."""
    from ..files import check_writable, make_folder
    from ..store import Store

    try:
        root = Store().root
        make_folder(root)
        check_writable(root / "trial")
    except ResourceError as error:
        raise ResourceError(error.cause, "Let SUBLIMATE_CACHE name a folder that can be written.") from error


def clear(slots: Iterable[Slot | None]) -> None:
    """Forget unfinished work."""
    for slot in filter(None, slots):
        slot.clear()


def run_key(**parts: Any) -> str:
    """What an unfinished run is known by: all it depends on, the thread count and the versions included."""
    import torch

    from ..networks import versions

    everything = parts | {"threads": torch.get_num_threads(), "versions": versions()}
    return jsonlib.dumps(everything, sort_keys=True, default=str)
