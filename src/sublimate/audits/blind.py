"""What an audit did not test, read off the tests that it has."""

from __future__ import annotations

from collections.abc import Sequence

from .result import Test

ALWAYS = "single records, by networks that are trained and erased again for the purpose (shadow networks)"
BESIDE = "single records that only a reference network could show (tier 2 with --reference looks)"
LOOKED = {  # what is looked for -> how the tests that look begin
    "an edit of the last layer or a mask on the outputs that leaves the features as they were": "Unchanged weights",
    "what the features before the last layer still tell": "Membership in the features",
    "knowledge that comes back after a few updates": "Relearning, ",
    "records that are recognised again a small step away": "Neighbourhood, ",
}
NATURE = (
    "whether the records are harder or easier by nature than the never-seen ones they are compared with (--reference "
    "shows whether they are harder)"
)
RETURN = (
    "whether a forgotten class comes back faster than in networks that never saw it (tier 2 with --reference looks)"
)


def not_tested(tests: Sequence[Test], tier: int, whole_classes: bool, beside: bool) -> list[str]:
    """All that no test of the result looked for; `beside` is whether there were reference networks."""

    def asked(begin: str) -> bool:
        return any(test.name.startswith(begin) for test in tests)

    why = "tier 2 looks" if tier == 1 else "it could not be looked at"
    missing = [f"{what} ({why})" for what, begin in LOOKED.items() if not asked(begin)]
    compared = {
        BESIDE: asked("RMIA"),
        RETURN: asked("Return of the class") or not whole_classes,
        NATURE: beside,
    }
    return [*missing, *(what for what, done in compared.items() if not done), ALWAYS]
