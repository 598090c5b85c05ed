"""With the weights in hand: what do the last features still tell?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import InputRefused
from ..inference import auc_by_class, predict
from ..randomness import stream
from ..splits import Part, Split
from .outputs import FAR
from .profile import forgotten_classes

LEAST = 10  # records of a side: half of them teach the probe, the others are judged
STRENGTH = 0.1  # C of the regression: a few hundred records face up to 512 features


@dataclass(frozen=True, eq=False)
class Probe:
    """Scores that a linear probe gives the records it shall find and the others, none of which it was fitted on.

    Only scores of one group are to be compared: for membership that is the class; for classes all are one group.
    """

    found: Tensor
    others: Tensor
    found_groups: Tensor
    others_groups: Tensor

    @property
    def auc(self) -> float:
        """.5: the features tell nothing; 1: everything."""
        return auc_by_class(self.found, self.found_groups, self.others, self.others_groups)


def linear_layers(model: nn.Module, classes: int | None = None) -> list[tuple[str, nn.Module]]:
    """Names and modules of the linear layers and 1×1 convolutions, with so many outputs if they are given.

    >>> [name for name, _ in linear_layers(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), 3)]
    ['0']
    """
    layers = [
        (name, module, module.out_features if isinstance(module, nn.Linear) else module.out_channels)
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) or (isinstance(module, nn.Conv2d) and module.kernel_size == (1, 1))
    ]
    return [(name, module) for name, module, outputs in layers if classes in (None, outputs)]


def features(model: nn.Module, part: Part) -> Tensor:
    """Input of the last linear layer for each record, [records, features]; a convolution's is averaged over space."""
    seen, layers = list[Tensor](), linear_layers(model, len(part.data.classes))
    if layers:
        hook = layers[-1][1].register_forward_pre_hook(lambda _, given: seen.append(given[0].float().cpu()))
        try:
            predict(model, part)
        finally:
            hook.remove()
    if not seen or sum(map(len, seen)) != len(part):
        raise InputRefused(
            f"No linear layer with {len(part.data.classes)} outputs is given one row of features per record.",
            "White-box probes need a network that ends in nn.Linear or in a 1×1 nn.Conv2d.",
        )
    rows = torch.cat(seen).clone()  # made in inference mode, which a clone is not bound to
    return rows.mean((2, 3)) if rows.ndim == 4 else rows.flatten(1)


def class_probe(model: nn.Module, split: Split, *, most: int = 2000, seed: int = 0) -> Probe | None:
    """Can a fresh linear head tell never-seen images of the forgotten classes from those of the others?

    Also a network that never saw a class has features for it, so the original and Retrain are the yardsticks.  None
    for other requests, and where a side has too few never-seen records.
    """
    control = Part(split.data, split.control, "control")
    gone = torch.isin(control.labels, forgotten_classes(split))
    sides = control.where(gone).sample(most, seed), control.where(~gone).sample(most, seed)
    if min(map(len, sides)) < LEAST:
        return None
    one_group = (torch.zeros_like(side.labels) for side in sides)
    return probe(*(features(model, side) for side in sides), *one_group, seed=seed)


def membership_probe(model: nn.Module, forget: Part, control: Part, *, seed: int = 0) -> Probe | None:
    """Can a linear probe tell forgotten from never-seen records of the same classes by their features?

    Records of classes that only one side shows are left out; None where that leaves too few of a side.
    """
    sides = (
        forget.where(torch.isin(forget.labels, control.labels)),
        control.where(torch.isin(control.labels, forget.labels)),
    )
    if min(map(len, sides)) < LEAST:
        return None
    return probe(*(features(model, side) for side in sides), *(side.labels for side in sides), seed=seed)


def probe(found: Tensor, others: Tensor, found_groups: Tensor, others_groups: Tensor, *, seed: int = 0) -> Probe:
    """Logistic regression fitted on a random half of both sides, which have the same weight in every group.

    One fit and one held-out half: the scores are independent, as intervals of an AUC assume.  Those of a
    cross-validation are not, and their AUC varies up to one and a half times as much as such intervals say.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sizes = len(found), len(others)
    x = torch.cat([found, others]).double().nan_to_num(posinf=FAR, neginf=-FAR)
    groups = torch.cat([found_groups, others_groups])
    member = torch.arange(sum(sizes)) < sizes[0]
    fit = torch.cat([torch.randperm(n, generator=stream(seed, "probe", n)) < n / 2 for n in sizes])
    head = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=1000))
    weights = _weights(member[fit], groups[fit]).numpy()
    head.fit(x[fit].numpy(), member[fit].numpy(), logisticregression__sample_weight=weights)
    scores = torch.from_numpy(head.decision_function(x[~fit].numpy()))
    asked, them = member[~fit], groups[~fit]
    return Probe(scores[asked], scores[~asked], them[asked], them[~asked])


def _weights(member: Tensor, groups: Tensor) -> Tensor:
    """Equal sums for both sides of each group: else a class that is frequent on one side is taken for membership."""
    weights = torch.ones(len(member), dtype=torch.double)
    for k in groups.unique():
        mine, theirs = member & (groups == k), ~member & (groups == k)
        weights[theirs] = mine.sum().double() / theirs.sum()
        weights[mine] = float(theirs.any())
    return weights
