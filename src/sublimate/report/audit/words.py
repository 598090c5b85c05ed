"""What the verdicts and the tests of an audit mean, for people who answer for data rather than for networks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...audits.result import Outcome, Verdict

Unit = Literal["number", "share", "points"]


@dataclass(frozen=True)
class Meaning:
    """A verdict in words: what it says, what it must not be taken for, what to do next."""

    icon: str
    line: str
    means: str
    not_means: str
    next: str


MEANINGS: dict[Verdict, Meaning] = {
    "PASS": Meaning(
        "✓",
        "As far as was tested, the forgotten records as a crowd look like records that the network never saw.",
        "Before, the network knew these records better than records it had never seen. Now every score shows the crowd "
        "of them to be alike, within the tolerance δ, and no other test found a difference. Some of them could still "
        "be as they were: the reasons say about how many would not be noticed.",
        "Do not read it as “deleted”, “forgotten” or “compliant with the law”. It is no proof that nothing is left: "
        "another test, or more records, may show what these did not. It says nothing of single records, unless the "
        "tests below name them, and nothing of backups, logs, earlier networks and the records themselves.",
        "Keep this page with the request. Remove the old network and its copies: they still know the records.",
    ),
    "FAIL": Meaning(
        "✕",
        "The forgotten records can be told from records that the network never saw.",
        "At least one test shows a difference. It is a trace where the network still knows the records better than new "
        "ones, and a scar where it treats them worse: both betray that they were in the training data.",
        "It does not say that anybody could rebuild the records from the network, nor that anybody has looked. It says "
        "that who holds the network can find out what was in its training data, and erasing should have ended that.",
        "Erase again from the original, by another method or preset, or train anew without the records; then audit "
        "again.",
    ),
    "INCONCLUSIVE": Meaning(
        "?",
        "Neither was shown: no verdict can be given.",
        "The tests show neither that the forgotten records are like never-seen ones nor that they differ. The reasons "
        "say what was missing: often records to compare, or a difference in the original that could have gone.",
        "It is no weak PASS. It is not evidence that erasing worked, and not evidence that it failed.",
        "Audit at tier 2 with networks trained without the records (--reference), or with more never-seen records. For "
        "a few records at a time, plant canaries at the next training (train --canaries).",
    ),
}

_NEIGHBOURS = ("Neighbour classes",)
FAILS: dict[tuple[str, ...], Meaning] = {  # where all telling tests begin so; no record was told from another by them
    _NEIGHBOURS: replace(
        MEANINGS["FAIL"],
        line="Images of the forgotten classes are taken for other classes than by networks that never saw them.",
        means="The network does not name the forgotten classes, but what it names instead is not what a network names "
        "that never knew them: that betrays which classes were erased.",
    ),
    (*_NEIGHBOURS, "Class still known", "Unchanged weights", "Return of the class"): replace(
        MEANINGS["FAIL"],
        line="What was to be forgotten is still in the network.",
        means="At least one test shows it: a class that is still named or comes back after a few updates, or weights "
        "that are those of the original. What the network does not say it may still know.",
    ),
}

OUTCOMES: dict[Outcome, tuple[str, str]] = {  # an icon and a word
    "alike": ("✓", "alike"),
    "different": ("✕", "different"),
    "unresolved": ("?", "unresolved"),
    "reported": ("·", "reported"),
}


@dataclass(frozen=True)
class Family:
    """Tests that ask the same question; they are known by how their names begin."""

    title: str
    asks: str
    units: dict[str, Unit]


FAMILIES = (
    Family(
        "All records together",
        "How often does a forgotten record score higher than a never-seen one of its class? This share is the AUC: 0.5 "
        "is a coin, so both are alike; above it they are still known better (a trace), below it worse (a scar). The "
        "scores are confidence in the right label, loss (confidence in other terms), entropy (how undecided the answer "
        "is), margin (the lead of the right label) and how alike the answers to two views of one image are.",
        {"AUC, ": "number"},
    ),
    Family(
        "Class by class",
        "Classes that are still known and classes that are scarred could cancel each other in the figures above. Do "
        "the AUCs of the single classes lie further from 0.5, taken together, than chance allows? The value is that "
        "of the class furthest off.",
        {"Classes apart, ": "number"},
    ),
    Family(
        "A few records that stand out",
        "An attacker may be content to find a few records, if almost never wrong. Which share of the forgotten records "
        "is found, by high or by low confidence, when at most 1 % or 0.1 % of the never-seen ones are taken for them "
        "by mistake? ε sums it up: 0 means that nothing was shown; the ceiling is the most that so many records "
        "could show.",
        {"found at ": "share", "ε, ": "number"},
    ),
    Family(
        "Whole classes",
        "Does the network still call new images by a class that it should not know any more?",
        {"Class still known": "share"},
    ),
    Family(
        "Canaries",
        "Canaries are records planted at training, each with a twin that a coin left out. Does the network know the "
        "one better than the other? A network that knows neither is right by chance: in half of the pairs.",
        {"Canaries, pairs": "share", "Canaries, ": "number"},
    ),
    Family(
        "Inside the network",
        "Are the weights still those of the original? Do the features before the last layer tell forgotten records "
        "from never-seen ones, or a forgotten class from the others, although the answers do not?",
        {"Unchanged weights": "share", "Membership in the features": "number", "Classes in the features": "number"},
    ),
    Family(
        "After a little more training",
        "Does what was erased come back? The network is trained for a few steps on retained records, and on some of "
        "the forgotten ones; what counts are the other forgotten records, which it is not shown.",
        {"Relearning": "number", "Return of the class": "points"},
    ),
    Family(
        "A small step away",
        "Some erasures only hide a record: a slightly changed image is recognised again. Do more forgotten than "
        "never-seen records come right when they are shifted, blurred by noise, or pushed a little?",
        {"Neighbourhood": "points"},
    ),
    Family(
        "Beside networks that never saw the records",
        "What does a network trained without these records say of each of them? Record by record, and, for whole "
        "classes, which other classes their images are taken for.",
        {"Extreme records": "points", "RMIA": "number", "Neighbour classes": "number"},
    ),
)
OTHERS = Family("Other tests", "What else was measured.", {})

GATES = {
    "fair attack": "The tests must not tell never-seen records from other never-seen records.",
    "fair control": "Forgotten records are judged beside never-seen ones of their own class.",
    "members seen": "Where not even retained records are told from never-seen ones, likeness shows nothing.",
    "canaries judged": "Planted records are judged by their twins: without enough pairs nothing is known of them.",
    "still works": "A network that knows nothing any more hides everything.",
    "something to erase": "Where the original did not stand out, nothing can be seen to go.",
    "enough records": "With few records even a large difference cannot be told from chance.",
    "attacks carried out": "What cannot be attacked could hide anything.",
    "same kind": "Records that are odd by nature are told from others by any network.",
    "clean reference": "A network for comparison must not know the records itself.",
}
HARM = {
    "accuracy": ("Accuracy on never-seen records of the classes that stay", "%"),
    "accuracy near": ("Accuracy on the retained records nearest to the forgotten ones", "%"),
    "exposure of retained": ("Exposure of retained records: AUC against never-seen ones", ""),
    "calibration error": ("Calibration error: how far confidence is from being right", ""),
}
