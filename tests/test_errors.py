"""Errors: cause, remedy, exit code, and lists of known names that help."""

import pickle

import pytest
from torch import nn

from sublimate.errors import (
    InputRefused,
    IntegrityError,
    Interrupted,
    ResourceError,
    SublimateError,
    UnlearningFailed,
    UsageError,
    unknown,
)

EXIT_CODES = {
    UsageError: 2,
    InputRefused: 3,
    IntegrityError: 4,
    ResourceError: 5,
    UnlearningFailed: 6,
    Interrupted: 75,
}


@pytest.mark.parametrize(("error", "code"), EXIT_CODES.items())
def test_an_error_says_cause_then_remedy_and_knows_its_exit_code(error, code):
    raised = error("The disk is full.", "Make room.")
    assert isinstance(raised, SublimateError)
    assert (str(raised), raised.cause, raised.remedy) == (
        "The disk is full. Make room.",
        "The disk is full.",
        "Make room.",
    )
    assert raised.exit_code == code


def test_every_error_has_an_exit_code_of_its_own():
    assert set(SublimateError.__subclasses__()) == set(EXIT_CODES)
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)


def test_failed_unlearning_hands_over_the_last_good_network():
    model = nn.Linear(1, 1)
    assert UnlearningFailed("It collapsed.", "Go slower.", model).model is model
    assert UnlearningFailed("It collapsed.", "Go slower.").model is None


@pytest.mark.parametrize("error", EXIT_CODES)
def test_an_error_survives_the_way_from_another_process(error):
    back = pickle.loads(pickle.dumps(error("The disk is full.", "Make room.")))
    assert type(back) is error
    assert (back.cause, back.remedy) == ("The disk is full.", "Make room.")


@pytest.mark.parametrize(
    ("wrong", "known", "message"),
    [
        (["trukc"], ["cat", "truck", "dog"], "No class 'trukc'. Known, nearest first: truck, cat, dog."),
        (["CAT"], ["dog", "cat"], "No class 'CAT'. Known, nearest first: cat, dog."),
        (["cta", "dgo"], ["dog", "cat"], "No class 'cta', 'dgo'. Known, nearest first: cat, dog."),
        ([""], ["dog", "cat"], "No class ''. Known, nearest first: dog, cat."),
    ],
)
def test_unknown_names_the_wrong_ones_and_lists_the_known_nearest_first(wrong, known, message):
    error = unknown(InputRefused, "class", wrong, known)
    assert type(error) is InputRefused
    assert str(error) == message


def test_unknown_gives_the_error_that_was_asked_for():
    assert type(unknown(UsageError, "method", ["x"], ["siamese"])) is UsageError


def test_long_lists_are_shortened_and_counted():
    error = unknown(InputRefused, "id", iter([f"x{i}" for i in range(15)]), iter([f"y{i}" for i in range(20)]))
    assert error.cause == "No id " + ", ".join(f"'x{i}'" for i in range(12)) + " and 3 more."
    assert error.remedy.startswith("Known, nearest first: y0, ") and error.remedy.endswith(" … (20 in all).")
    assert len(error.remedy.split(", ")) == 1 + 12  # "Known, nearest first" holds a comma itself


def test_at_the_limit_nothing_is_left_out():
    names = [f"x{i}" for i in range(12)]
    error = unknown(InputRefused, "id", names, [name.upper() for name in names])
    assert "more" not in error.cause and "in all" not in error.remedy


def test_among_many_names_the_nearest_is_found():
    known = [f"{letter}/{i}.png" for letter in "abcd" for i in range(1000)]
    assert unknown(InputRefused, "id", ["c/731.pgn"], known).remedy.startswith("Known, nearest first: c/731.png, ")


def test_among_many_names_some_are_listed_even_when_none_begins_alike():
    remedy = unknown(InputRefused, "id", ["x7"], map(str, range(3000))).remedy
    assert remedy.removeprefix("Known, nearest first: ")[0].isdigit()
