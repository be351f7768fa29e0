"""What an error follows from, as Python shows it, also if a program has made a circle of it."""

from kafka_groups.errors.causes import causes_of


def names(error: BaseException | None, *, hidden: bool = False) -> list[str]:
    return [str(each) for each in causes_of(error, hidden=hidden)]


def raised(*, is_explicit: bool = False, is_hidden: bool = False) -> Exception:
    """An error that follows from another."""
    try:
        try:
            raise OSError("first")
        except OSError as error:
            if is_explicit:
                raise ValueError("second") from error
            if is_hidden:
                raise ValueError("second") from None
            raise ValueError("second")  # noqa: B904 - the implicit context is what this is about
    except ValueError as error:
        return error


def test_an_error_without_a_cause_stands_alone() -> None:
    assert names(ValueError("alone")) == ["alone"]
    assert names(None) == []


def test_causes_and_what_was_handled_are_followed() -> None:
    assert names(raised(is_explicit=True)) == ["second", "first"]
    assert names(raised()) == ["second", "first"]


def test_what_from_none_hides_is_yielded_on_demand() -> None:
    assert names(raised(is_hidden=True)) == ["second"]
    assert names(raised(is_hidden=True), hidden=True) == ["second", "first"]


def test_an_error_that_is_its_own_cause_comes_once() -> None:
    error = ValueError("mine")
    error.__cause__ = error
    assert names(error) == ["mine"]


def test_what_stands_behind_an_error_that_is_its_own_cause_is_found() -> None:
    error = raised()
    error.__cause__ = error
    assert names(error) == ["second", "first"]


def test_a_circle_of_causes_and_contexts_ends() -> None:
    first, second, third = ValueError("1"), ValueError("2"), ValueError("3")
    first.__cause__, second.__context__, third.__cause__ = second, third, first
    assert names(first) == ["1", "2", "3"]
