"""The axes of a printed panel: quiet, and with no text that is read as a formula."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .picture import Axis, Panel, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, LINE = "#1d2126", "#59616b", "#dde1e6"
SMALL, NORMAL = 7, 8  # points


def dress(ax: Axes, panel: Panel, *, named: bool) -> None:
    """Scales, ticks and titles of a panel; a panel beside a like one is not `named` again."""
    _axis(ax, "x", panel.x, titled=True)
    _axis(ax, "y", panel.y, titled=named)
    ax.set_axisbelow(True)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom" and panel.x.shown)
        spine.set_color(SOFT)
    ax.tick_params(labelsize=SMALL, labelcolor=INK, length=0, pad=3, labelleft=named)


def _axis(ax: Axes, which: str, axis: Axis, *, titled: bool) -> None:
    from matplotlib.ticker import NullLocator

    own = ax.xaxis if which == "x" else ax.yaxis
    if axis.log:
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
        own.set_minor_locator(NullLocator())
    if axis.ticks:
        own.set_ticks(list(axis.ticks), [printable(text) for text in axis.ticks.values()])
    if axis.span:
        (ax.set_xlim if which == "x" else ax.set_ylim)(*axis.span)
    if not axis.shown:
        own.set_ticks([])
    if axis.grid:
        own.grid(color=LINE, linewidth=0.6)
    if axis.title and titled:
        own.set_label_text(axis.title, fontsize=SMALL, color=SOFT)


def printable(text: str, most: int = 30) -> str:
    r"""Text that matplotlib prints as it stands.

    >>> printable("100 $ a $ b")
    '100 \\$ a \\$ b'
    """
    return short(text, most).replace("$", r"\$")


@contextmanager
def any_script() -> Iterator[None]:
    """Names may be in a script that the font lacks: boxes are printed, and nobody is warned."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
