"""From a split and its networks to what a table or page tells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ResourceError

if TYPE_CHECKING:
    from ..data.core import Data
    from ..report.rows import Row, Story
    from ..splits import Split
    from .ui import Ui


def story_of(
    data: Data, split: Split, architecture: str, rows: Sequence[Row], reference: str | None, command: str = ""
) -> Story:
    """All that is known about one request."""
    from ..report.rows import Story

    notes = list(split.notes)
    if split.val_from_test:
        notes.append(
            f"{len(split.val)} of the {len(data.test)} test records were used for choosing (learning rate, stopping); "
            "TA is on the whole test set."
        )
    return Story(
        title=f"Erasing {split.request.text} from {architecture}",
        request=split.request.text,
        data=data.name,
        model=architecture,
        split=split.fingerprint,
        counts={"forget": len(split.forget), "retain": len(split.retain), "test": len(data.test)},
        rows=rows,
        reference=reference,
        command=command,
        notes=notes,
    )


def report_on(ui: Ui, story: Story, path: Path, done: str) -> None:
    """Write the page, the last thing that a command does; where it cannot be written, say what is done all the same."""
    from ..report.page import write_page

    try:
        write_page(story, path)
    except ResourceError as error:
        raise ResourceError(f"{error.cause} {done}; only the page is missing.", error.remedy) from error
    ui.say(f"Report: {path}")
