"""Training: two recipes, as data, on the one loop.  Leaving out the forget rows makes it Retrain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from .data.batches import LEAST, Batch, Batches, Meter
from .data.views import View
from .data.views import view as find_view
from .errors import InputRefused, UsageError, unknown
from .inference import gradients_on, outputs_for, prepare
from .loop import Loop, Progress, Saver
from .models.memory import channels_last, contiguous
from .models.outputs import logits as as_logits
from .phase import Losses, Phase, cosine
from .randomness import derive, guarded, stream
from .splits import Part


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How an original (or Retrain) is trained; the last epoch counts, never the best on the test set."""

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    schedule: Literal["one-cycle", "steps"]
    momentum: float = 0.9
    nesterov: bool = False
    warmup: float = 0.0  # epochs
    milestones: tuple[float, ...] = ()  # epochs after which the rate falls
    factor: float = 0.2  # by which it falls
    views: str | View = "simple"

    def describe(self) -> dict[str, Any]:
        """The recipe, fit for JSON."""
        return asdict(self) | {"views": self.views if isinstance(self.views, str) else "callable"}


# paper: App. C; the factor is the authors' code's, the paper gives none.  fast: a good network in minutes on two cores.
RECIPES = {
    "paper": Recipe(
        epochs=200, batch_size=128, lr=1e-3, weight_decay=1e-4, schedule="steps", warmup=2, milestones=(60, 120, 160)
    ),
    "fast": Recipe(epochs=15, batch_size=128, lr=0.1, weight_decay=5e-4, schedule="one-cycle", nesterov=True, warmup=4),
}


def find_recipe(name: str, **changes: Any) -> Recipe:
    """A recipe by its name, with what shall differ.

    >>> find_recipe("fast", epochs=2).epochs
    2
    """
    if name not in RECIPES:
        raise unknown(UsageError, "recipe", [name], RECIPES)
    chosen = {key: value for key, value in changes.items() if value is not None}
    if not isinstance(chosen.get("epochs", 1), int) or chosen.get("epochs", 1) < 1:
        raise InputRefused(f"There cannot be {chosen['epochs']!r} epochs.", "Give a whole number from 1.")
    if "epochs" in chosen:  # a shorter run keeps the shape of the schedule
        scale = chosen["epochs"] / RECIPES[name].epochs
        chosen["warmup"] = RECIPES[name].warmup * scale
        chosen["milestones"] = tuple(m * scale for m in RECIPES[name].milestones)
    return replace(RECIPES[name], **chosen)


def rate(recipe: Recipe, done: float) -> float:
    """Factor of the learning rate when a share `done` of the run lies behind.

    >>> [rate(RECIPES["fast"], d) for d in (0.0, 4 / 15, 1.0)]
    [0.04, 1.0, 0.0]
    """
    epoch = done * recipe.epochs
    if epoch < recipe.warmup:
        low = 0.04 if recipe.schedule == "one-cycle" else 0.0
        return low + (1 - low) * epoch / recipe.warmup
    if recipe.schedule == "steps":
        return recipe.factor ** sum(epoch >= m for m in recipe.milestones)
    return cosine((epoch - recipe.warmup) / (recipe.epochs - recipe.warmup))


def train_phase(model: nn.Module, part: Part, recipe: Recipe, seed: int, meter: Meter, device: torch.device) -> Phase:
    """Passes over a part by a recipe; all that is random in it depends on the seed and the number of the batch."""
    view = partial(find_view(recipe.views), flip=part.data.flip)

    def step(batch: Batch) -> Losses:
        x = view(batch.x, stream(seed, "views", batch.t))
        return {"ce": F.cross_entropy(as_logits(model(prepare(part, x))), batch.y)}

    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=recipe.lr,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        nesterov=recipe.nesterov,
    )
    return Phase(
        name="train",
        over=Batches(part, recipe.batch_size, seed=seed, meter=meter, device=device, fill=LEAST),
        epochs=recipe.epochs,
        steps=(step,),
        optimizer=optimizer,
        lr=recipe.lr,
        schedule=partial(rate, recipe),
    )


def plain(
    model: nn.Module, part: Part, recipe: Recipe, seed: int, meter: Meter, device: torch.device
) -> Iterable[Phase]:
    """Training as usual: one phase over all rows."""
    return [train_phase(model, part, recipe, seed, meter, device)]


REVISION = "1"  # raised when the same recipe and seed lead to another network: a bench then trains it again


def fit(
    build: Callable[[], nn.Module],
    part: Part,
    recipe: Recipe,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
    phases: Callable[[nn.Module, Part, Recipe, int, Meter, torch.device], Iterable[Phase]] = plain,
    progress: Callable[[Progress], None] | None = None,
    saver: Saver | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> tuple[nn.Module, Loop]:
    """Train a fresh network on a part; the caller's random state stays.  A recorder brings `phases` of its own."""
    with gradients_on(), guarded():
        torch.manual_seed(derive(seed, "init"))
        model = build().to(device)
        outputs_for(model, part)  # refused before anything is trained
        model = channels_last(model).train()
        meter = Meter()
        loop = Loop(model, seed, meter, progress=progress, saver=saver, interrupted=interrupted)
        loop.run(phases(model, part, recipe, seed, meter, torch.device(device)))
    return contiguous(model).eval(), loop
