"""The sheets of an experiment, whatever they are written in: methods as lines, measures as columns, as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...bench.lines import YARDSTICKS, Block, Line, Summary, Where
from ..tables import plain
from .digits import Shown, extra, extras, figure

FACTS = ("scenario", "data", "model", "views")
TERMS = ("KVC", "CE", "ALP")
CHECK, FAILED = "✓", "†"
Lead = dict[str, str]


@dataclass(frozen=True)
class SheetLine:
    """One line of a sheet; a rule above parts methods from yardsticks, and settings from each other."""

    lead: tuple[str, ...]
    cells: tuple[Shown, ...]
    yardstick: bool
    rule: bool


@dataclass(frozen=True)
class Sheet:
    """One table: what was run, its columns, its lines."""

    blocks: tuple[Block, ...]
    heads: tuple[str, ...]  # of what leads a line; `Approach` is the label
    measures: tuple[str, ...]
    extras: tuple[str, ...]  # columns that the paper does not have
    lines: tuple[SheetLine, ...]


def sheets(summary: Summary) -> list[Sheet]:
    """One sheet per setting; settings that differ in their views alone share one, and so do all of a KL table."""
    groups: dict[Where, list[Block]] = {}
    for block in summary.blocks if summary.experiment.kind != "tsne" else ():
        common = block.where._replace(views="")
        if summary.experiment.kind == "kl":
            common = common._replace(scenario="", data="", model="")
        groups.setdefault(common, []).append(block)
    return [_sheet(blocks, summary.experiment.measures) for blocks in groups.values()]


def clean(text: str) -> str:
    """What others named, without what steers a terminal or breaks a line."""
    return plain(text).plain


def about(sheet: Sheet) -> str:
    """What the lines of a sheet have in common."""
    first, request = sheet.blocks[0].where, dict.fromkeys(block.request for block in sheet.blocks)
    varying = {head.lower() for head in sheet.heads}
    facts = [value for fact, value in first._asdict().items() if fact in FACTS and fact not in varying]
    return clean(" · ".join([*facts, *(request if len(request) == 1 else ()), f"edition {first.edition}"]))


def _sheet(blocks: Sequence[Block], order: Sequence[str]) -> Sheet:
    pairs = [(block, line) for block in blocks for line in block.lines]
    lines = [line for _, line in pairs]
    measures = tuple(key for key in order if any(key in block.measures for block in blocks))
    further = extras(lines, measures)
    leads = [_lead(block.where, line) for block, line in pairs]
    heads = _heads(leads, lines)
    shown: list[SheetLine] = []
    for place, line in enumerate(lines):
        cells = [*(figure(line, key) for key in measures), *(extra(line, key) for key in further)]
        before = place - 1 if place else None
        lead = _once(heads, leads[place], None if before is None else leads[before])
        parted = before is not None and (lead[0] != "" if heads[0].lower() in FACTS else _turns(lines[before], line))
        shown.append(SheetLine(lead, tuple(cells), line.method in YARDSTICKS, parted))
    return Sheet(tuple(blocks), heads, measures, further, tuple(shown))


def _lead(where: Where, line: Line) -> Lead:
    facts = {fact.capitalize(): clean(getattr(where, fact)) for fact in FACTS}
    epoch = "" if line.epoch is None else f"{line.epoch:g}"
    terms = zip(TERMS, terms_of(line) or (False,) * 3, strict=True)
    label = clean(line.label) + (f" {FAILED}" if line.failed else "")
    return facts | {"Approach": label, "Epoch": epoch} | {term: CHECK if on else "" for term, on in terms}


def _heads(leads: Sequence[Lead], lines: Sequence[Line]) -> tuple[str, ...]:
    """What tells the lines apart; the terms of the loss where variants of Siamese differ in them."""
    shown = {head for head in leads[0] if len({lead[head] for lead in leads}) > 1} - set(TERMS)
    if not any(head.lower() in FACTS for head in shown) or any(line.failed for line in lines):
        shown.add("Approach")
    if any(lead["Epoch"] for lead in leads):
        shown.add("Epoch")
    differ = len({terms for line in lines if (terms := terms_of(line))}) > 1
    return tuple(head for head in leads[0] if head in shown or (differ and head in TERMS))


def terms_of(line: Line) -> tuple[bool, bool, bool] | None:
    """Whether a variant of Siamese has vaporization and concentration, cross entropy, adaptive label permutation."""
    if line.method != "siamese":
        return None
    entropy = line.options.get("lam", 1.0) > 0
    adaptive = entropy and line.options.get("permutation", "paper") not in ("uniform", "none")
    return line.options.get("kvc", 1.0) > 0, entropy, adaptive


def _once(heads: Sequence[str], lead: Lead, before: Lead | None) -> tuple[str, ...]:
    """The lead of a line, without the facts that the line above has told."""
    told, texts = before is not None, []
    for head in heads:
        told = told and before is not None and head.lower() in FACTS and lead[head] == before[head]
        texts.append("" if told else lead[head])
    return tuple(texts)


def _turns(before: Line, line: Line) -> bool:
    return before.method in YARDSTICKS and line.method not in YARDSTICKS
