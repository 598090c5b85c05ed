"""Which records an audit looks at."""

from __future__ import annotations

import torch

from ..errors import InputRefused
from ..splits import Part, Split

RETAINED = 2000  # retained records that are looked at


def looked_at(judged: Split, whole: Split, sample: int | None = None) -> dict[str, Part]:
    """The parts forget, control and retain, each at most `sample` records, and `never` where control is no test part.

    `judged` is what is left of the request when canaries are set apart, `whole` the request itself.
    """
    control, never = map(_never_seen, (judged, whole))
    forget = judged.forget_set if sample is None else judged.forget_set.sample(sample)
    _check(forget, control)
    parts = {
        "forget": forget,
        "control": _matched(control, forget, sample),
        "retain": whole.retain_set.sample(RETAINED if sample is None else min(RETAINED, sample)),
    }
    if judged.data is whole.data:
        return parts
    return parts | {"never": never if sample is None else never.sample(sample)}


def _never_seen(split: Split) -> Part:
    """`control`, without classes that were forgotten earlier: the network was not to know them before, either."""
    control = Part(split.data, split.control, "control")
    return control.where(split.counts[control.labels] > 0)


def _matched(control: Part, forget: Part, sample: int | None) -> Part:
    """A sample that keeps records of the forgotten classes: half of it, or more where there are few others."""
    if sample is None or len(control) <= sample:
        return control
    same = torch.isin(control.labels, forget.labels)
    others = control.where(~same).sample(max(sample // 2, sample - int(same.sum())))
    rows = torch.cat([control.where(same).sample(sample - len(others)).rows, others.rows])
    return Part(control.data, rows.sort().values, control.name)


def _check(forget: Part, control: Part) -> None:
    if not bool(torch.isin(forget.labels, control.labels).any()):
        raise InputRefused(
            "There are no never-seen records of the classes that were forgotten.",
            "Give a test part with records of these classes; without them nothing can be said.",
        )
    if bool((control.rows < control.data.sizes[0]).any()):
        raise InputRefused(
            "Some records that are given as never seen are training records.",
            "Judge by records that no network under audit was trained on.",
        )
