"""Training in shards and slices, for SISA.  Training and deletion run the same phases, hence agree to the bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..data.batches import Batch, Blank, Meter
from ..data.core import Data
from ..errors import InputRefused
from ..models.ensemble import Ensemble
from ..phase import Losses, Phase
from ..randomness import derive, stream
from ..records import Kept, TrainingRecords, under
from ..splits import Part
from ..training import Recipe, train_phase

GONE = -1  # the cell of a row that is in no slice


def assign(rows: int, shards: int, slices: int, seed: int) -> Tensor:
    """The cell shard·R + slice of each training row: dealt like cards, so that sizes differ by one at most.

    >>> assign(7, shards=2, slices=2, seed=0).bincount().tolist()
    [2, 2, 2, 1]
    """
    dealt = torch.arange(rows) % (shards * slices)
    cells = torch.empty(rows, dtype=torch.long)
    cells[torch.randperm(rows, generator=stream(seed, "sisa"))] = dealt % shards * slices + dealt // shards
    return cells


def slice_epochs(epochs: int, slices: int, r: int) -> int:
    """Epochs over slices 0..r: 2e/(R+1), so that all together cost as much as e epochs; at least one.

    >>> [slice_epochs(9, 4, r) for r in range(4)]
    [3, 4, 3, 4]
    """
    return max(1, 2 * epochs * (r + 1) // (slices + 1) - 2 * epochs * r // (slices + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Slicing:
    """Which row is in which slice, and how slices are trained."""

    seed: int
    shards: int
    slices: int
    recipe: Recipe
    cells: Tensor  # per training row

    @classmethod
    def of(cls, records: TrainingRecords) -> Slicing:
        """As the records tell it."""
        values, cells = dict(records.header.values), records.tensor("cells")
        try:
            recipe = dict(values.pop("recipe"))
            recipe["milestones"] = tuple(recipe["milestones"])
            return cls(**values, recipe=Recipe(**recipe), cells=cells)
        except (KeyError, TypeError, ValueError):
            raise InputRefused("The records do not say how slices are trained.", "Train again with records.") from None

    def values(self) -> dict[str, Any]:
        """All but the cells, fit for JSON."""
        numbers = {"seed": self.seed, "shards": self.shards, "slices": self.slices}
        return {**numbers, "recipe": self.recipe.describe()}

    def without(self, rows: Tensor) -> Slicing:
        """The same slices, but for these rows."""
        cells = self.cells.clone()
        cells[rows] = GONE
        return replace(self, cells=cells)

    def rows(self, s: int, r: int) -> Tensor:
        """Rows of the slices 0..r of a shard."""
        return ((self.cells >= s * self.slices) & (self.cells <= s * self.slices + r)).nonzero().flatten()

    def first(self, rows: Tensor) -> list[int]:
        """For each shard the first slice that holds any of these rows; R where none does."""
        shard, slice_ = self.cells[rows] // self.slices, self.cells[rows] % self.slices
        return [min(slice_[shard == s].tolist(), default=self.slices) for s in range(self.shards)]

    def phases(
        self, model: Ensemble, data: Data, first: Iterable[int], kept: Kept, meter: Meter, device: torch.device
    ) -> Iterator[Phase]:
        """Each shard from its slice `first` on, beginning with the state that was kept before it."""
        for s, (shard, start) in enumerate(zip(model.shards, first, strict=True)):
            if start < self.slices:
                _load(shard, under(kept.tensors, f"state.{s}.{start}"))
            for r in range(start, self.slices):
                yield self._phase(shard, data, s, r, kept, meter, device)

    def _phase(
        self, shard: nn.Module, data: Data, s: int, r: int, kept: Kept, meter: Meter, device: torch.device
    ) -> Phase:
        # The shuffles hang on the part's name: it is the same at training and at deletion.
        part, seed = Part(data, self.rows(s, r), "retain"), derive(self.seed, "sisa", s, r)
        plain = train_phase(shard, part, self.recipe, seed, meter, device)

        def step(batch: Batch) -> Losses:
            torch.manual_seed(derive(seed, "step", batch.t))  # dropout, too, hangs on shard, slice and batch alone
            return plain.steps[0](batch)

        def finish() -> None:
            if r + 1 < self.slices:
                kept.keep(f"state.{s}.{r + 1}", shard.state_dict())

        return replace(
            plain,
            name=f"shard {s + 1}, slice {r + 1}",
            over=plain.over if len(part) else Blank(0),
            epochs=slice_epochs(self.recipe.epochs, self.slices, r),
            steps=(step,),
            modules={"kept": kept},
            finish=finish,
        )


def _load(shard: nn.Module, state: dict[str, Tensor]) -> None:
    frozen = {name: p for name, p in shard.named_parameters(remove_duplicate=False) if not p.requires_grad}
    try:
        shard.load_state_dict(state | frozen)
    except RuntimeError as error:
        cause = f"The records hold no state that fits: {str(error).splitlines()[-1].strip()}"
        raise InputRefused(cause, "Train again with records.") from None
