"""The tables of an experiment in LaTeX, for a paper."""

from __future__ import annotations

from collections.abc import Iterator

from ...bench.kinds import file_name
from ...bench.lines import Summary
from ..tables import MISSING
from .digits import CONTAMINATED, HEADS, REMARKED, Shown
from .layout import Sheet, SheetLine, about, sheets
from .notes import NO_TABLE, heading, notes

PACKAGES = "% needs booktabs, graphicx and amssymb"
LATEX_SIGNS = {CONTAMINATED: r"\S", REMARKED: r"\ddagger"}
STEMS = {"acc": "Acc", "ta": "TA", "kl": "KL", "spread": "Spread"}
_LETTERS = str.maketrans(
    {letter: f"\\{letter}" for letter in "#$%&_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"[": "{[}", "*": "{*}"}  # at the beginning of a line both would belong to the end of the line before
    | {"✓": r"$\checkmark$", "†": r"$\dagger$", "‡": r"$\ddagger$", "±": r"$\pm$", "·": r"$\cdot$", "–": "--"}
    | {"§": r"\S{}", "≈": r"$\approx$", "≤": r"$\le$", "≥": r"$\ge$", "−": "$-$", "×": r"$\times$", "→": r"$\to$"}
    | {"λ": r"$\lambda$"}
)  # fmt: skip


def escape(text: str) -> str:
    r"""A text as LaTeX shows it, letter by letter.

    >>> escape("50% of cat_1 & more")
    '50\\% of cat\\_1 \\& more'
    """
    return text.translate(_LETTERS)


def latex(summary: Summary) -> str:
    """One table environment per setting, in the layout of the paper."""
    found = sheets(summary)
    parts = [_table(summary, sheet, place) for place, sheet in enumerate(found, start=1)]
    return "\n\n".join([PACKAGES, *(parts or [f"% {NO_TABLE}"])]) + "\n"


def _table(summary: Summary, sheet: Sheet, place: int) -> str:
    columns = len(sheet.measures) + len(sheet.extras)
    name = file_name(summary.experiment.id) + (f"-{place}" if place > 1 else "")
    heads = [*(rf"\textbf{{{escape(head)}}}" for head in sheet.heads), *map(_head, (*sheet.measures, *sheet.extras))]
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering",
            rf"\caption{{{escape(heading(summary))}: {escape(about(sheet))}.}}",
            rf"\label{{tab:{name}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{{'l' * len(sheet.heads)}{'c' * columns}}}",
            r"\toprule",
            _row(heads),
            r"\midrule",
            *(text for line in sheet.lines for text in _lines(line)),
            r"\bottomrule",
            r"\end{tabular}}",
            r"\par\raggedright\footnotesize",
            *(rf"{escape(note)}\par" for note in notes(summary, sheet)),
            r"\end{table}",
        ]
    )


def _lines(line: SheetLine) -> Iterator[str]:
    if line.rule:
        yield r"\midrule"
    yield _row([*map(escape, line.lead), *(_cell(cell) for cell in line.cells)])


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _head(key: str) -> str:
    stem, _, part = key.partition("_")
    if part in ("dr", "df"):
        return rf"$\mathrm{{{STEMS[stem]}}}_{{\mathcal{{D}}_{part[1]}}}$"
    return escape(HEADS[key])


def _cell(cell: Shown) -> str:
    """Reported / measured ± half an interval, with the gap as an index, as the paper prints it."""
    mark = {"best": r"\mathbf{%s}", "second": r"\underline{%s}", None: "%s"}[cell.mark]
    signs = "".join(LATEX_SIGNS[sign] for sign in cell.signs)
    raised = f"^{{{signs}}}" if signs else ""
    reported = f"${cell.reported}{raised}$ / " if cell.reported else ""
    if cell.value == MISSING or not (cell.half or cell.gap or cell.mark or cell.reported):
        return reported + escape(cell.value)
    value = mark % cell.value + (rf" \pm {cell.half}" if cell.half else "")
    if cell.gap:
        spread = rf" \pm {cell.gap_half}" if cell.gap_half else ""
        value = f"{{{value}}}_{{({cell.gap}{spread})}}"
    return f"{reported}${value}$"
