"""Unfinished work on a disk that may fill: the run goes on unsaved, and says so once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ResourceError
from ..store import Slot

if TYPE_CHECKING:
    from .ui import Ui


@dataclass
class Keeper:
    """What the slots of one run share: whether the disk still takes their states, and whether the run shall stop."""

    ui: Ui
    stopping: Callable[[], bool]
    lost: bool = False

    def keep(self, slot: Slot | None) -> KeptSlot | None:
        """The same slot, for a run that shall not end because a state cannot be saved."""
        return None if slot is None else KeptSlot(slot.path, self)

    def failed(self, error: ResourceError) -> None:
        """A run that is stopped is lost without its state; any other goes on."""
        if self.stopping():
            remedy = "The run is not saved: free some space or let SUBLIMATE_CACHE name another folder, and start anew."
            raise ResourceError(error.cause, remedy) from error
        self.lost = True
        self.ui.warn(f"{error.cause} The run goes on and is no longer saved; SUBLIMATE_CACHE names another folder.")


@dataclass(frozen=True)
class KeptSlot(Slot):
    """A slot whose failure to save is the keeper's to judge."""

    keeper: Keeper

    def save(self, data: bytes) -> None:
        """Replace the state, as long as the disk takes it; once more when the run is stopped."""
        if self.keeper.lost and not self.keeper.stopping():
            return
        try:
            super().save(data)
        except ResourceError as error:
            self.keeper.failed(error)
