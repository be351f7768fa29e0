"""The place of an error in the user's code, whatever chain of causes stands behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest

from kafka_groups.cli.imports import place_of, told

HERE = Path(__file__).name


def line_of(words: str) -> int:
    """The line of this file that raises the error with this text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if f'raise ValueError("{words}")' in line)


def from_itself() -> Never:
    try:
        raise ValueError("itself")
    except ValueError as error:
        raise error from error


def in_a_handler() -> Never:
    try:
        raise ValueError("first")
    except ValueError:
        raise LookupError("second")  # noqa: B904 - the implicit context is what this is about


def hiding() -> Never:
    try:
        raise LookupError("first")
    except LookupError:
        raise ValueError("second") from None


@pytest.mark.parametrize(("fail", "words"), [(from_itself, "itself"), (in_a_handler, "first"), (hiding, "second")])
def test_the_place_is_that_of_the_first_error_that_is_shown(fail: Callable[[], Never], words: str) -> None:
    with pytest.raises((ValueError, LookupError)) as raised:
        fail()
    assert place_of(raised.value) == f" ({HERE}:{line_of(words)})"


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert told(ValueError("made")) == "ValueError: made"
