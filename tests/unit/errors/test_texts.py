"""Texts of errors, whatever their classes do."""

import traceback

import pytest

from kafka_groups.errors.texts import counted, joined, named, represented, sentences, shown, traceback_of


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("plum"), "KeyError: 'plum'"),
        (ValueError(3_000 * "x"), f"ValueError: {2_000 * 'x'}…"),
        (ValueError(), "ValueError"),
        (WithoutTextError(), "WithoutTextError: its text cannot be shown, because str() of it raises RuntimeError"),
    ],
    ids=["short", "long", "empty", "none"],
)
def test_an_error_has_its_class_and_its_text(error: Exception, text: str) -> None:
    assert named(error) == text


@pytest.mark.parametrize("text", ["process failed", "process failed.", " process failed. "])
def test_a_text_and_its_advice_are_two_sentences(text: str) -> None:
    assert sentences(text, "", "To skip such records, set a handler") == (
        "process failed. To skip such records, set a handler."
    )


@pytest.mark.parametrize("text", ["Did you mean it?", "No!", f"{2_000 * 'x'}…"])
def test_other_ends_of_sentences_stay(text: str) -> None:
    assert sentences(text, "Mend it.") == f"{text} Mend it."


def test_nothing_is_left_of_empty_texts() -> None:
    assert sentences("", " ") == ""


@pytest.mark.parametrize(
    ("number", "thing", "text"),
    [
        (1, "member", "1 member"),
        (0, "member", "0 members"),
        (2_000, "record", "2,000 records"),
        (2, "process", "2 processes"),
        (2, "batch", "2 batches"),
        (3, "delivery", "3 deliveries"),
        (2, "key", "2 keys"),
    ],
)
def test_things_are_counted_in_singular_and_plural(number: int, thing: str, text: str) -> None:
    assert counted(number, thing) == text


class Unrepresentable:
    def __repr__(self) -> str:
        raise KeyError("no form")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plum", "'plum'"),
        ([1] * 10_000, f"[{166 * '1, '}1…"),
        (Unrepresentable(), "<Unrepresentable, whose repr() raises KeyError>"),
    ],
    ids=["short", "long", "raising"],
)
def test_an_object_of_a_program_is_represented_in_few_characters(value: object, text: str) -> None:
    assert represented(value) == text


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_a_reason_that_is_no_text_is_shown() -> None:
    assert shown(404) == "404"


def test_a_short_traceback_is_as_python_prints_it() -> None:
    error = raised(ValueError("plum"))
    error.__cause__ = raised(KeyError("pear"))
    assert traceback_of(error) == "".join(traceback.format_exception(error))


def test_texts_in_tracebacks_are_cut_and_frames_are_kept() -> None:
    error = raised(ValueError("x" * 5_000_000))
    error.__cause__ = raised(KeyError("pear\n" * 1_000_000))
    text = traceback_of(error)
    assert len(text) < 6_000
    assert text.count("raise error") == 2
    assert "direct cause" in text
    assert text.endswith("x…\n")


def test_long_tracebacks_are_cut_in_the_middle() -> None:
    error = raised(ValueError("last"))
    cause = error
    for number in range(1_000):
        cause.__cause__ = raised(LookupError(number))
        cause = cause.__cause__
    text = traceback_of(error)
    assert len(text) < 20_100
    assert "LookupError: 999" in text
    assert "characters are left out here" in text
    assert text.endswith("ValueError: last\n")


def test_a_traceback_needs_no_text() -> None:
    assert "WithoutTextError: " in traceback_of(raised(WithoutTextError()))


def test_a_stack_is_cut() -> None:
    assert len(joined(f"frame {number}\n" for number in range(100_000))) < 20_100
