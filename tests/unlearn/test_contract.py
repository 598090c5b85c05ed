"""What every method owes; a new one joins by standing in METHODS and in the cases."""

from __future__ import annotations

import pytest

from sublimate.testing import CHECKS
from sublimate.testing.cases import CASES
from sublimate.unlearn import METHODS


def test_every_method_has_a_case() -> None:
    assert set(CASES) == set(METHODS)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", CASES)
def test_contract(name: str, check: str) -> None:
    CHECKS[check](CASES[name])
