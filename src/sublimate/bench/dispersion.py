"""How far the answers for views of one record lie apart: divergence, spread, and a map of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..audits.outputs import FAR
from ..data.views import view
from ..inference import device_of, modes_kept, prepare
from ..models.outputs import logits as as_logits
from ..networks import Network
from ..plan import Context
from ..randomness import derive, stream
from ..splits import Part
from .analysis import Found, facts, made_by, rounded
from .packing import Few, Request, asked_of, needed, opened, placed, table

BATCH = 500  # images in flight


REVISION = "1"  # raised when the same network gets another divergence or another map


@placed
def divergence(context: Context, *, on: Request, few: Few, views: str, points: int, number: int, seed: int) -> Found:
    """KL and spread of views, mean over `points` retained and forgotten records with `number` views each."""
    network = opened(needed(context), table(on["data"]))
    asked = asked_of(on, network.data, few)
    found = {}
    for name, part in (("dr", asked.retain_set), ("df", asked.forget_set)):
        z = answers(network, part.sample(points, seed), views, number, seed)
        found[f"kl_{name}"], found[f"spread_{name}"] = float(pairwise_kl(z).mean()), float(spread(z).mean())
    return facts(asked) | {"figures": rounded(found), "run": made_by(network)}


@placed
def embedded(context: Context, *, on: Request, few: Few, views: str, points: int, number: int, seed: int) -> Found:
    """Where t-SNE puts the logits of views of a few retained (0) and forgotten (1) records: x, y, group, record."""
    network = opened(needed(context), table(on["data"]))
    asked = asked_of(on, network.data, few)
    parts = (part.sample(points, seed) for part in (asked.retain_set, asked.forget_set))
    z = [answers(network, part, views, number, seed) for part in parts]
    placed = tsne(torch.cat([one.flatten(0, 1) for one in z]), derive(seed, "tsne") % 2**32)
    marks = [(group, record) for group, one in enumerate(z) for record in range(len(one)) for _ in range(number)]
    found = [[*place, *mark] for place, mark in zip(placed, marks, strict=True)]
    return facts(asked) | {"points": found, "run": made_by(network)}


def answers(network: Network, part: Part, views: str, number: int, seed: int) -> Tensor:
    """Logits of `number` views of each record: records × views × classes."""
    draw, model = partial(view(views), flip=part.data.flip), network.model
    found = []
    with modes_kept(model), torch.inference_mode():
        model.eval()
        for record, x in enumerate(_images(part)):
            g = stream(seed, "dispersion", part.name, record)
            seen = draw(x.repeat(number, 1, 1, 1), g)
            z = [as_logits(model(prepare(part, one.to(device_of(model))))).float().cpu() for one in seen.split(BATCH)]
            found.append(torch.cat(z))
    return torch.stack(found).nan_to_num(nan=0.0, posinf=FAR, neginf=-FAR)


def pairwise_kl(z: Tensor) -> Tensor:
    """Mean KL(p_i ‖ p_j) over all ordered pairs of views, for each record; p is the softmax of records × views × K.

    Σ_ij KL(p_i ‖ p_j) / n² = mean_i Σ p_i log p_i − Σ p̄ · mean_j log p_j: no pair is ever looked at.

    >>> pairwise_kl(torch.zeros(1, 5, 3)).item()
    0.0
    """
    log_p = z.double().log_softmax(2)
    p = log_p.exp()
    found: Tensor = (p * log_p).sum(2).mean(1) - (p.mean(1) * log_p.mean(1)).sum(1)
    return found


def spread(z: Tensor) -> Tensor:
    """E‖f(T(x)) − η‖² of eq. 1–2, for each record; η is the mean of its views.

    >>> spread(torch.tensor([[[0.0, 3.0], [4.0, 0.0]]])).item()
    6.25
    """
    z = z.double()
    return (z - z.mean(1, keepdim=True)).square().sum(2).mean(1)


def tsne(z: Tensor, random_state: int) -> list[tuple[float, float]]:
    """Two coordinates for each row; on one thread, so that sums are taken in one order."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    with threadpool_limits(1):
        most = max(1.0, min(30.0, (len(z) - 1) / 3))
        found: Any = TSNE(init="pca", random_state=random_state, perplexity=most).fit_transform(z.double().numpy())
    return [(round(float(x), 2), round(float(y), 2)) for x, y in found]


def _images(part: Part) -> Iterator[Tensor]:
    for row in part.rows.split(1):
        yield part.data.read(row)[0]
