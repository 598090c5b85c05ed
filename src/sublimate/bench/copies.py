"""Copies of experiments in a folder of results, which thereby explains itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..files import read_bytes, rewrite
from .experiments import load
from .kinds import file_name
from .schema import Experiment


def dump(experiments: Iterable[Experiment], folder: Path) -> None:
    """Copy the files of the experiments into a folder of results; one that names presets has a folder with them."""
    for experiment in experiments:
        bare, beside = _copies(experiment.id, folder)
        presets = {method.preset for method in experiment.methods} - {"auto", "paper"}
        for preset in sorted(presets):
            rewrite(beside.with_name(preset), read_bytes(experiment.folder / preset))
        here, there = (beside, bare) if presets else (bare, beside)
        rewrite(here, experiment.text.encode())
        there.unlink(missing_ok=True)  # of an earlier run, when it had presets and now has none, or had none


def copy(experiment: str, folder: Path) -> Experiment:
    """The experiment of this id in a folder of copies."""
    bare, beside = _copies(experiment, folder)
    return load(beside if beside.exists() else bare)


def _copies(experiment: str, folder: Path) -> tuple[Path, Path]:
    """Where its copy lies: alone, and with presets; no preset can have that name, which has a blank."""
    name = file_name(experiment)
    return folder / f"{name}.toml", folder / name / "the experiment.toml"
