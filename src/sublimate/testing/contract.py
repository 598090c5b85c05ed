"""What every method owes, as one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import SublimateError
from ..unlearn.base import Unlearner
from . import access, behaviour, declarations, inputs, refusals, world
from .case import Case

Check = Callable[[Case], None]

CHECKS: dict[str, Check] = {
    check.__name__.removeprefix("check_").replace("_", " "): check
    for check in (
        declarations.check_name_and_docstring,
        declarations.check_card,
        declarations.check_declarations,
        declarations.check_options,
        behaviour.check_a_seed_means_repeatable,
        world.check_world_stays,
        world.check_world_stays_after_an_exception,
        access.check_access,
        behaviour.check_whole_class_is_forgotten_and_the_rest_stays,
        inputs.check_awkward_sizes,
        inputs.check_two_classes,
        inputs.check_networks_of_all_kinds,
        behaviour.check_killed_and_continued_ends_in_the_same_bytes,
        inputs.check_takes_datasets_loaders_and_tensors,
        refusals.check_divergence_gives_back_a_finite_network,
        refusals.check_no_effect_is_a_failure,
        refusals.check_missing_ratios_are_counted_and_said,
        refusals.check_refusals,
        refusals.check_missing_records_are_refused,
        refusals.check_val_may_be_missing_or_is_asked_for,
    )
}


def check_method(cls: type[Unlearner], **expected: Any) -> None:
    """Check that a method keeps the contract; an AssertionError says what it owes.

    `expected` are the fields of `Case`: above all `quick`, options with which the method is fast and has an effect on
    the toy problem, and `ruin`, options with which it must diverge.
    """
    check_case(Case(cls=cls, **expected))


def check_case(case: Case) -> None:
    """Run all checks on one case."""
    for name, check in CHECKS.items():
        try:
            check(case)
        except SublimateError as error:
            raise AssertionError(f"{case.cls.__name__}, in the check {name!r}: {error}") from error
        except Exception as error:
            error.add_note(f"In the check {name!r} of {case.cls.__name__}.")
            raise
