"""What the rest of the network paid: accuracy, near relatives of the forgotten records, exposure, calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..inference import accuracy, auc_by_class
from .distances import calibration_error
from .outputs import Outputs
from .signals import SIGNALS

NEAREST = 0.05  # share of the retained sample that counts as near
EXPOSED = 0.02  # rise of the AUC of retained against never-seen records that is called harm
LOST = 3.0  # points of accuracy on never-seen records of the classes that stay
AT_ONCE = 200  # retained records whose distances are held in memory
Parts = Mapping[str, Outputs]
"""Of one network: forget, control, retain, and `never`: all never-seen records."""


def nearest(original_retain: Tensor, original_forget: Tensor) -> Tensor:
    """Places of the retained records that the original places nearest to a forgotten one, by their logits.

    >>> nearest(torch.tensor([[0.0], [9.0]]), torch.tensor([[8.0]]))
    tensor([1])
    """
    exactly = "donot_use_mm_for_euclid_dist"
    some = original_retain.split(AT_ONCE)
    distance = torch.cat([torch.cdist(rows, original_forget, compute_mode=exactly).amin(1) for rows in some])
    return distance.argsort(stable=True)[: max(1, round(NEAREST * len(distance)))]


def harm(before: Parts, after: Parts, gone: Tensor, classes: tuple[str, ...]) -> dict[str, Any]:
    """Figures before and after; `gone` are the wholly forgotten classes, of which nothing is expected."""
    near = nearest(before["retain"].z, before["forget"].z)
    figures: dict[str, Callable[[Parts], float]] = {
        "accuracy": lambda o: accuracy(staying(o, gone).z, staying(o, gone).labels),
        "accuracy near": lambda o: accuracy(o["retain"].z[near], o["retain"].labels[near]),
        "exposure of retained": lambda o: _exposure(o["retain"], o["never"]),
        "calibration error": lambda o: calibration_error(staying(o, gone).z, staying(o, gone).labels),
    }
    found = {name: {"before": round(of(before), 4), "after": round(of(after), 4)} for name, of in figures.items()}
    return found | {"accuracy by class": _by_class(before["never"], after["never"], classes)}


def complaints(found: dict[str, Any]) -> list[str]:
    """The harm that is worth a sentence."""
    said = []
    lost = found["accuracy"]["before"] - found["accuracy"]["after"]
    if lost > LOST:
        said.append(f"Harm: accuracy on the classes that stay fell by {lost:.1f} points.")
    exposed = found["exposure of retained"]
    if exposed["after"] > exposed["before"] + EXPOSED:
        said.append(
            "Harm: retained records have become easier to tell from never-seen ones "
            f"(AUC {exposed['before']:.3f} before, {exposed['after']:.3f} after)."
        )
    return said


def staying(out: Parts, gone: Tensor) -> Outputs:
    """Never-seen records of the classes that stay; retained ones where there are none."""
    never = out["never"]
    keep = ~torch.isin(never.labels, gone)
    return never.where(keep) if bool(keep.any()) else out["retain"]


def _exposure(retain: Outputs, never: Outputs) -> float:
    (mine, theirs), phi = (retain, never), SIGNALS["confidence"]
    return auc_by_class(phi(mine.z, mine.labels), mine.labels, phi(theirs.z, theirs.labels), theirs.labels)


def _by_class(before: Outputs, after: Outputs, classes: tuple[str, ...]) -> dict[str, dict[str, float]]:
    found = {}
    for k in before.labels.unique():
        mine = before.labels == k
        found[classes[int(k)]] = {
            "before": round(accuracy(before.z[mine], before.labels[mine]), 2),
            "after": round(accuracy(after.z[mine], after.labels[mine]), 2),
        }
    return found
