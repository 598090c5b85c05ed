"""RMIA: is a record likelier under the network, beside references, than records of a population are?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InputRefused
from .calibrated import Answers

A = 0.3  # of RMIA when nothing was fitted: p_in ≈ .3 p_out + .7, what its public implementations use for images


@dataclass(frozen=True, eq=False)
class Rmia:
    """RMIA scores of each forgotten and of each control record; no trace: both groups are alike."""

    forget: Tensor
    control: Tensor
    a: float
    population: int


def fitted_a(p_in: Tensor, p_out: Tensor) -> float:
    """The a of p_in ≈ a·p_out + 1 − a by least squares, within 0…1.

    The original network is IN for the forgotten records and the references are OUT: the pair that a is to be tuned on.

    >>> fitted_a(torch.tensor([0.9, 0.8]), torch.tensor([[0.8, 0.6]])).__round__(6)
    0.5
    """
    missing_in, missing_out = 1 - p_in.double(), 1 - p_out.double().mean(0)
    whole = float((missing_out**2).sum())
    return min(1.0, max(0.0, float((missing_in * missing_out).sum()) / whole)) if whole > 0 else A


def rmia(p_x: Tensor, p_x_out: Tensor, p_z: Tensor, p_z_out: Tensor, a: float = A, gamma: float = 1.0) -> Tensor:
    """Share of the population z with LR(x, z) = [p_θ(x) / p(x)] / [p_θ(z) / p(z)] ≥ γ, for each x (RMIA, offline).

    p(x) ≈ ½[(1 + a)·mean p_out(x) + 1 − a].  The ratios of z are sorted; LR falls along them, so each x bisects.
    """
    x, z = _ratio(p_x, p_x_out, a), _ratio(p_z, p_z_out, a).sort().values
    low, high = torch.zeros(len(x), dtype=torch.long), torch.full((len(x),), len(z))
    for _ in range(len(z).bit_length()):
        middle = (low + high) // 2
        # The very quotient of the formula is compared, so that rounding decides as it does there.
        enough = (low < high) & (x / z[middle.clamp(max=len(z) - 1)] >= gamma)
        low, high = torch.where(enough, middle + 1, low), torch.where(enough, high, middle)
    return low.double() / len(z)


def _ratio(p: Tensor, p_out: Tensor, a: float) -> Tensor:
    return p.double() / (((1 + a) * p_out.double().mean(0) + (1 - a)) / 2)


def rmia_scores(forget: Answers, control: Answers, population: Answers, a: float = A, gamma: float = 1.0) -> Rmia:
    """RMIA of forgotten and of control records against a population that holds none of either."""
    judged = torch.cat([forget.part.rows, control.part.rows])
    if not len(population.part) or bool(torch.isin(population.part.rows, judged).any()):
        raise InputRefused(
            "The population for RMIA is empty or shares records with those it judges.",
            "Set a part of the never-seen records aside.",
        )
    z = population.p, population.p_out
    mine, theirs = (rmia(group.p, group.p_out, *z, a, gamma) for group in (forget, control))
    return Rmia(mine, theirs, a, len(population.part))
