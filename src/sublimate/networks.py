"""From a checkpoint file to a network that runs, and back: architecture, head, normalisation."""

from __future__ import annotations

import inspect
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import safetensors
import torch
from torch import nn

from . import __version__
from .canaries import replant
from .checkpoint import Checkpoint, Meta, fit, load_checkpoint
from .data.core import Data
from .data.pixels import check_normalisation
from .errors import InputRefused, SublimateError, UsageError, unknown
from .importing import imported, told
from .models.ensemble import Ensemble
from .models.identify import identify
from .models.registry import MODELS, build


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A network in evaluation mode, the data as it takes them, and the file it came from."""

    path: Path
    model: nn.Module
    data: Data
    checkpoint: Checkpoint
    architecture: str
    notes: tuple[str, ...]

    @property
    def canary_seed(self) -> int | None:
        """Seed of the canaries that the network was trained with, when the file names any."""
        facts = self.checkpoint.meta.recipe.get("canaries") if self.checkpoint.meta else None
        return facts["seed"] if facts else None

    @property
    def split(self) -> str | None:
        """Fingerprint of the split the network was made on, when the file says so."""
        return self.checkpoint.meta.split if self.checkpoint.meta else None

    @property
    def forgotten(self) -> dict[str, str]:
        """What the network never saw or has forgotten, as its file tells it (`forgotten.recognised`)."""
        return dict(self.checkpoint.meta.forgotten) if self.checkpoint.meta else {}


def factory(architecture: str, data: Data) -> Callable[[], nn.Module]:
    """A maker of fresh networks: one of ours by name, or `module:function` (called with the class count if it asks).

    `sisa:5:small-cnn` is an ensemble of five.
    """
    channels, height, _ = data.shape
    if architecture in MODELS:
        return lambda: build(architecture, len(data.classes), channels=channels, size=height)
    if several := re.fullmatch(r"sisa:([1-9]\d*):(.+)", architecture):
        one = factory(several[2], data)
        return lambda: Ensemble(one() for _ in range(int(several[1])))
    if ":" not in architecture:
        raise unknown(UsageError, "model", [architecture], MODELS)
    made = imported(architecture)
    asks = _asks(architecture, made)

    def fresh() -> nn.Module:
        try:
            model = made(len(data.classes)) if asks else made()
        except (Exception, SystemExit) as error:
            remedy = "Let it return a network; it may ask for the number of classes."
            raise InputRefused(f"{architecture} failed: {told(error)}.", remedy) from error
        if not isinstance(model, nn.Module):
            raise InputRefused(f"{architecture} gave a {type(model).__name__}.", "It must return a torch.nn.Module.")
        return model

    return fresh


def _asks(name: str, made: object) -> bool:
    """Whether a function must be given something: the number of classes."""
    if not callable(made):
        raise InputRefused(f"{name} is a {type(made).__name__}, not a function.", "It must return a torch.nn.Module.")
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have none to look at
        return False
    return any(p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD for p in parameters)


def open_network(
    path: Path,
    data: Data,
    *,
    arch: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    device: str = "cpu",
) -> Network:
    """Load a checkpoint of ours or of others; nothing in the file is executed.

    `arch`, `mean` and `std` describe a file that is not ours: our own says itself how it is built and fed.
    `data` of the result holds the canaries the network was trained with, when the file names any.
    """
    checkpoint = load_checkpoint(path)
    architecture = _architecture(checkpoint, path, data, arch)
    model = factory(architecture, data)()
    fit(model, checkpoint)
    seen, notes = _normalised(checkpoint, data, mean, std)
    seen, about = _planted(checkpoint, seen)
    notes += about
    if arch not in (None, architecture):
        notes += (f"--arch is not used for {path.name}, which names its own architecture: {architecture}.",)
    notes += _other_classes(checkpoint, data)
    if checkpoint.layout.dropped:
        notes += (f"Not kept from {path.name}, it may hold traces: {', '.join(checkpoint.layout.dropped)}.",)
    return Network(
        path=path,
        model=model.to(device).eval(),
        data=seen,
        checkpoint=checkpoint,
        architecture=architecture,
        notes=notes,
    )


def _architecture(checkpoint: Checkpoint, path: Path, data: Data, arch: str | None) -> str:
    if checkpoint.meta is not None:
        return _own_architecture(checkpoint.meta, data, arch)
    if arch is not None:
        return arch
    identity = identify({name: tuple(tensor.shape) for name, tensor in checkpoint.state.items()})
    if identity is None:
        raise InputRefused(
            f"{path.name} fits none of the built-in networks.",
            f"Give --arch module:function, or one of {', '.join(MODELS)}.",
        )
    return identity.architecture


def _own_architecture(meta: Meta, data: Data, arch: str | None) -> str:
    """What our file says; what the user says, where the user's own module is no longer found by that name."""
    if arch is None:
        return meta.architecture
    try:
        factory(meta.architecture, data)
    except SublimateError:
        return arch
    return meta.architecture


def _normalised(
    checkpoint: Checkpoint, data: Data, mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[Data, tuple[str, ...]]:
    if (mean is None) != (std is None):
        raise UsageError("Only one of --mean and --std is given.", "Give both, or none.")
    given = None if mean is None or std is None else (tuple(mean), tuple(std))
    own = checkpoint.normalisation if checkpoint.meta else None
    found = own or given or checkpoint.normalisation
    if found is None:
        used = f"mean {data.mean}, std {data.std}" if data.pixels else "none"
        return data, (f"The file names no normalisation: the data's own is used ({used}).",)
    found = check_normalisation("The network", data.shape[0], *found)
    notes = {
        f"--mean and --std are not used: the file names its own normalisation ({found}).": own
        and given not in (None, own),
        "The data is model-ready: the normalisation of the network is not applied to it.": not data.pixels,
    }
    return data.normalised(*found), tuple(note for note, holds in notes.items() if holds)


def _planted(checkpoint: Checkpoint, data: Data) -> tuple[Data, tuple[str, ...]]:
    """The data with the canaries of the training.

    No refusal where they cannot be made again: records may have been deleted since, and others must still be erasable.
    """
    facts = checkpoint.meta.recipe.get("canaries") if checkpoint.meta else None
    if not isinstance(facts, dict):
        return data, ()
    try:
        planted = replant(data, facts)
    except InputRefused as refusal:
        return data, (f"The network was trained with canaries, which are left out here. {refusal}",)
    return planted, (f"{facts['n'] // 2} of the training records are canaries.",)


def _other_classes(checkpoint: Checkpoint, data: Data) -> tuple[str, ...]:
    """A note when the network was trained on classes of other names: numbers say nothing, so it is no refusal."""
    trained = tuple(checkpoint.meta.classes) if checkpoint.meta else data.classes
    if trained == data.classes:
        return ()
    pairs = [pair for pair in zip(trained, data.classes, strict=False) if pair[0] != pair[1]]
    first = f", say {pairs[0][0]!r} for {pairs[0][1]!r}" if pairs else ""
    return (f"The network was trained on classes of other names than {data.name} has{first}: is it the right data?",)


def describe(architecture: str, data: Data, **facts: Any) -> Meta:
    """What our files say about a network: how to build it, how to feed it, how it was made, with which versions."""
    channels, height, width = data.shape
    return Meta(
        architecture=architecture,
        classes=data.classes,
        channels=channels,
        size=(height, width),
        mean=data.mean,
        std=data.std,
        flip=data.flip,
        versions=versions(),
        **facts,
    )


def versions() -> dict[str, str]:
    """The versions a result depends on."""
    return {
        "sublimate": __version__,
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "safetensors": safetensors.__version__,
        "python": platform.python_version(),
    }
