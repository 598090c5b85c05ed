"""What an audit found: one typed result, the same in Python, as JSON and on the page."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Outcome = Literal["alike", "different", "unresolved", "reported"]
SCHEMA_VERSION = 1


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Test(_Plain):
    """One statistic with its size of sample and interval, and what it shows."""

    __test__ = False  # not for pytest

    name: str
    tier: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n_forget: int
    n_control: int
    p_different: float | None = Field(default=None, description="corrected for the number of tests of its kind")
    p_alike: float | None = Field(default=None, description="of the equivalence test; small where alike")
    outcome: Outcome
    detail: dict[str, Any] = {}


class Gate(_Plain):
    """Something that must hold before a verdict may be given."""

    name: str
    passed: bool
    says: str


class Skipped(_Plain):
    """What was not done, and why."""

    what: str
    why: str


class Worst(_Plain):
    """A record that stands out most; known by a pseudonym outside the terminal."""

    pseudonym: str
    label: str
    phi: float | None = Field(description="logit-scaled confidence; null where it is infinite")
    share_above: float = Field(
        description="share of never-seen records of its class that score higher; ties count half"
    )


class Compute(_Plain):
    """What the audit cost."""

    images: int = Field(description="images passed forward through a network")
    steps: int = Field(description="training steps of relearning attacks")
    seconds: float


class Audit(_Plain):
    """The verdict and all that it stands on."""

    schema_version: int = SCHEMA_VERSION
    verdict: Verdict
    tier: int
    reasons: list[str]
    tests: list[Test]
    gates: list[Gate]
    delta: float | None = Field(description="largest |AUC − .5| that still counts as alike")
    smallest_detectable: float | None = Field(description="smallest |AUC − .5| that is found 4 times out of 5")
    chance_alike: float | None = Field(
        default=None, description="chance that by every score records that were never seen would be called alike"
    )
    harm: dict[str, Any]
    mia: dict[str, float] = Field(
        description="the paper's attack, in percent, and how many records it is fitted on; not a verdict"
    )
    curves: dict[str, Any] = Field(description="histograms of confidence and ROC curves, for drawing")
    worst: list[Worst]
    not_tested: list[str]
    skipped: list[Skipped]
    compute: Compute
    split: str
    n: dict[str, int]

    @property
    def exit_code(self) -> int:
        """0, 7 or 8, as the command line ends."""
        return {"PASS": 0, "FAIL": 7, "INCONCLUSIVE": 8}[self.verdict]
