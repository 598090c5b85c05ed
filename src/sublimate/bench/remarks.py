"""What is to be known about figures that a paper printed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .kinds import Declared, Measure, Name, Text


class Remark(Declared):
    """What is to be known about some of the figures that the paper printed; what is left out is all."""

    text: Text
    measures: Annotated[tuple[Measure, ...], Field(strict=False)] = ()
    labels: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    settings: Annotated[tuple[str, ...], Field(strict=False)] = ()

    def concerns(self, label: str, measure: str, keys: tuple[str, ...]) -> bool:
        """Whether it is about this figure; `keys` are those of its setting."""
        named = (label in self.labels or not self.labels) and (measure in self.measures or not self.measures)
        return named and (not self.settings or any(key in self.settings for key in keys))
