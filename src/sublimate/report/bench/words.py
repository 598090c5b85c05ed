"""What a page of results says in sentences, and what each figure means and which way is good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...audits.evaluation import MEANING
from ...bench.lines import AVERAGE_GAP, YARDSTICKS, Block, Line
from ..tables import count
from .digits import HEADS

MEANINGS = {key: words for key, (_, words) in MEANING.items()} | {
    "auc": "how well confidence tells forgotten from never-seen records; 0.5 is no trace, on either side of it is one",
    "js": "distance between its answers on forgotten records and Retrain’s; 0 is good",
    "kl_dr": "divergence between the answers to views of one record that stays; to be compared with that of D_f",
    "kl_df": "divergence between the answers to views of one forgotten record; near that of never-seen records is good",
    "spread_dr": "spread of the logits over views of one record that stays; to be compared with that of D_f",
    "spread_df": "spread of the logits over views of one forgotten record; near that of never-seen records is good",
    AVERAGE_GAP: "mean distance to Retrain over the accuracies and MIA, signs dropped, in points; low is good",
    "tow": "tug of war, one number of three distances (forgotten, retained, test); 1 is Retrain’s, high is good",
    "seconds": "time of the method alone, median over seeds; low is good, and says nothing of how well it erases",
    "efficiency": "run-time efficiency: how many times faster than Retrain; high is good",
    "samples": "records that the method read in all its passes, two views of one counted once; low is good",
    "audit": "whether forgotten records can be told from never-seen ones: PASS is alike within a margin, FAIL is told "
    "apart, INCONCLUSIVE is neither; PASS is good, and is not a proof",
    "seeds": "how many times all was trained and erased anew; more give narrower intervals",
}


def meanings(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Name and meaning of figures, in the usual order."""
    return [(HEADS[key], f"{words[0].upper()}{words[1:]}.") for key, words in MEANINGS.items() if key in keys]


def ranking(block: Block) -> list[Line]:
    """Methods that ran through, the nearest to Retrain on average first."""
    known = [line for line in block.lines if line.average_gap and line.method not in YARDSTICKS and not line.failed]
    return sorted(known, key=lambda line: line.average_gap.mean if line.average_gap else 0.0)


def distance(line: Line) -> str:
    """How far from Retrain, with its interval."""
    gap = line.average_gap
    return "" if gap is None else f"{gap.mean:.2f}" + (f" ± {gap.half:.2f}" if gap.half is not None else "")


def cost(line: Line) -> str:
    """What a method takes, in time and images."""
    parts = []
    if line.seconds is not None:
        parts.append(f"{line.seconds:,.0f} s" if line.seconds >= 10 else f"{line.seconds:.2g} s")
    if line.efficiency is not None:
        rate = line.efficiency
        parts.append(
            f"{rate:.3g} times as fast as Retrain" if rate >= 1 else f"{1 / rate:.3g} times the time of Retrain"
        )
    if line.samples is not None:
        parts.append(f"{count(round(line.samples))} images read")
    return ", ".join(parts) or "not measured"


def story(block: Block) -> str:
    """What follows on the nearest method: the next one, the untouched network, who passes the audit, who broke off."""
    ranked, always = ranking(block), passing(block)
    said = []
    if ranked[1:]:
        said.append(f"Of {len(ranked)} approaches that ran through, {ranked[1].label} follows with")
        said.append(f"{distance(ranked[1])} points.")
    if untouched := next((line for line in block.lines if line.method == "original" and line.average_gap), None):
        said.append(f"{untouched.label}, untouched, has {distance(untouched)}.")
    if ranked and ranked[0].seeds == 1:
        said.append("One seed: differences of a point mean nothing.")
    if always:
        said.append(f"{listed(always)} pass{'' if always[1:] else 'es'} the audit in every run.")
    elif any(line.verdicts for line in ranked):
        said.append(nobody_can(block) or "No method passes the audit in every run.")
    if broken := [line.label for line in block.lines if line.failed]:
        said.append(f"{listed(broken)} did not run through with every seed.")
    return " ".join(said)


HARM, NOT_JUDGED = "Harm: ", "Not judged: "  # how reasons begin that are none of a verdict


def nobody_can(block: Block) -> str:
    """Where not even Retrain passes the audit: that, and why; else nothing."""
    goal = next((line for line in block.lines if line.method == "retrain"), None)
    if goal is None or not goal.verdicts or "PASS" in goal.verdicts:
        return ""
    why = next((reason for reason in goal.reasons if not reason.startswith((HARM, NOT_JUDGED))), "")
    why = why.split(". ")[0].rstrip(".") + "."
    return f"Not even {goal.label} passes the audit here, so INCONCLUSIVE says nothing about a method. {why}"


def harm(line: Line) -> str:
    """What the audit found that the erasure cost, in the first of its runs."""
    return " ".join(reason.removeprefix(HARM).capitalize() for reason in line.reasons if reason.startswith(HARM))


def passing(block: Block) -> list[str]:
    """Methods that the audit passes with every seed."""
    return [line.label for line in ranking(block) if set(line.verdicts) == {"PASS"}]


def lead(blocks: Sequence[Block]) -> str:
    """Who is nearest how often, over all settings that compare methods, and in how many an audit is passed."""
    nearest = Counter(ranked[0].label for block in blocks if (ranked := ranking(block)))
    if not nearest:
        return "No setting here compares methods with Retrain."
    if len(blocks) == 1:
        return _lead_of_one(blocks[0])
    (first, times), *others = nearest.most_common()
    often = [f"{first} comes nearest to Retrain in {times}", *(f"{label} in {n}" for label, n in others)]
    audited = [block for block in blocks if any(line.verdicts for line in ranking(block))]
    said = f"Of {len(blocks)} settings that compare methods, {listed(often)}."
    if audited:
        good = sum(bool(passing(block)) for block in audited)
        of = f"{len(audited)} settings" if len(audited) > 1 else "one setting that was audited"
        passed = f"In {good} of {of} at least one method passes" if good else f"In none of {of} does a method pass"
        said += f" {passed} the audit in every run."
        if blind := sum(bool(nobody_can(block)) for block in audited):
            there = "There" if blind == len(audited) else f"In {blind} of them"
            said += f" {there} not even Retrain does, and INCONCLUSIVE says nothing about a method."
    return said


def _lead_of_one(block: Block) -> str:
    ranked, always = ranking(block), passing(block)
    said = f"Of {len(ranked)} approaches in one setting, {ranked[0].label} comes nearest to Retrain."
    if not ranked[1:]:
        said = f"One method in one setting: {ranked[0].label} comes within {distance(ranked[0])} points of Retrain."
    if always:
        said += f" {listed(always)} pass{'' if always[1:] else 'es'} the audit in every run."
    elif any(line.verdicts for line in ranked):
        said += f" {nobody_can(block) or 'No method passes the audit in every run.'}"
    return said


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
