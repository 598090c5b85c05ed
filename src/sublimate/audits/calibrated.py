"""Record by record: what a network says against what networks that never saw the record say (OUT references)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import InputRefused
from ..inference import confidence, predict
from ..splits import Part
from .outputs import bounded

FLOOR = 0.1  # of σ, in units of φ: references that agree by chance make no record an outlier
EXTREME = 3.0  # |z| beyond this is extreme


@dataclass(frozen=True, eq=False)
class Answers:
    """φ of the records of one part: by the network under audit, and by each reference as rows."""

    part: Part
    phi: Tensor
    phi_out: Tensor  # [references, records]

    @property
    def p(self) -> Tensor:
        """Probability of the label: φ is its logit."""
        return self.phi.sigmoid()

    @property
    def p_out(self) -> Tensor:
        """The same by the references."""
        return self.phi_out.sigmoid()


@dataclass(frozen=True)
class Extremes:
    """How many of how many records lie beyond ±3, and Fisher's exact p (two-sided) that the shares are equal."""

    forget: int
    forget_n: int
    control: int
    control_n: int
    p: float


@dataclass(frozen=True, eq=False)
class Deviations:
    """z of each forgotten and of each control record, the shared σ, and how many are extreme."""

    forget: Tensor
    control: Tensor
    sigma: float
    references: int
    extremes: Extremes


def answers(model: nn.Module, references: Sequence[nn.Module], part: Part) -> Answers:
    """One pass of each network over the part."""
    if not references:
        raise InputRefused("There is no reference network.", "Give at least one that never saw the forgotten records.")
    phi, *out = [confidence(bounded(predict(network, part)), part.labels) for network in (model, *references)]
    return Answers(part, phi, torch.stack(out))


def spread(forget: Answers, control: Answers) -> float:
    """σ of φ(x) − μ_out(x) for a network that never saw x, shared by all records.

    From two references on: their pooled variance within the records, times 1 + 1/k since μ_out is a mean of k.  One
    reference has no variance within a record: then it is that of the differences over the control records.
    """
    out = torch.cat([forget.phi_out, control.phi_out], 1)
    if len(out) > 1:
        return float((out.var(0).mean() * (1 + 1 / len(out))).sqrt())
    if len(control.part) < 2:
        raise InputRefused("One reference and less than two control records give no spread.", "Give more references.")
    return float((control.phi - control.phi_out[0]).std())


def z_scores(phi: Tensor, phi_out: Tensor, sigma: float, floor: float = FLOOR) -> Tensor:
    """z(x) = (φ(x) − μ_out(x)) / σ; above 0 a trace, below 0 a scar.

    >>> z_scores(torch.tensor([5.0]), torch.tensor([[1.0], [3.0]]), sigma=1.5)
    tensor([2.])
    """
    return (phi - phi_out.mean(0)) / max(sigma, floor)


def deviations(forget: Answers, control: Answers) -> Deviations:
    """Evidence record by record; `control` are never-seen records of the same classes."""
    sigma = spread(forget, control)
    mine, theirs = (z_scores(group.phi, group.phi_out, sigma) for group in (forget, control))
    return Deviations(mine, theirs, sigma, len(forget.phi_out), extremes(mine, theirs))


def extremes(forget: Tensor, control: Tensor, limit: float = EXTREME) -> Extremes:
    """Share of |z| > 3 among forgotten and among control records."""
    from scipy.stats import fisher_exact  # type: ignore[import-untyped, unused-ignore]

    mine, theirs = int((forget.abs() > limit).sum()), int((control.abs() > limit).sum())
    table = [[mine, len(forget) - mine], [theirs, len(control) - theirs]]
    return Extremes(mine, len(forget), theirs, len(control), float(fisher_exact(table)[1]))
