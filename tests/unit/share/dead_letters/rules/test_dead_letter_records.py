import pytest

from kafka_groups.share.dead_letters.rules.dead_letter_records import (
    DeadLetterOrigin,
    RecordPlace,
    last_header,
    times_sent_again,
)
from kafka_groups.types import TopicPartition
from tests.unit.share.dead_letters.made_letters import dlq_headers, made_letter

ORIGIN = DeadLetterOrigin(TopicPartition("orders", 0), 7)


def test_a_dead_letter_says_where_it_came_from_and_why() -> None:
    letter = made_letter(12, [("trace", b"x"), *dlq_headers()])
    assert (letter.origin, str(letter.origin)) == (ORIGIN, "orders:0@7")
    assert (letter.group, letter.delivery_count, letter.reason) == ("invoices", 2, "KeyError: 'plum'")
    assert (str(letter), str(letter.place)) == ("orders.dead 0@12", "0@12")
    assert not letter.is_possible_duplicate
    assert made_letter(0, [*dlq_headers(), ("__dlq.errors.possible.duplicate", b"true")]).is_possible_duplicate


def test_another_record_says_nothing() -> None:
    letter = made_letter(0, [])
    assert (letter.origin, letter.group, letter.delivery_count, letter.reason) == (None, None, None, None)


@pytest.mark.parametrize("header", ["partition", "offset"])
@pytest.mark.parametrize("value", [None, b"", b"-1", b"\xff", "²".encode()])
def test_numbers_that_are_none_name_no_origin(header: str, value: bytes | None) -> None:
    given = [(name, value if name == f"__dlq.errors.{header}" else old) for name, old in dlq_headers()]
    assert made_letter(0, given).origin is None


@pytest.mark.parametrize("value", [None, b""])
def test_an_origin_has_a_topic(value: bytes | None) -> None:
    assert made_letter(0, [*dlq_headers(), ("__dlq.errors.topic", value)]).origin is None


def test_the_last_header_of_a_name_counts() -> None:
    # A record of another dead-letter topic was given up again: its own headers come first.
    letter = made_letter(0, [*dlq_headers(3, topic="first"), *dlq_headers()])
    assert letter.origin == ORIGIN
    assert last_header((("a", b"1"), ("b", b"2"), ("a", None)), "a") is None


def test_a_reason_that_is_not_unicode_is_shown_all_the_same() -> None:
    assert made_letter(0, [("__dlq.errors.message", b"caf\xe9")]).reason == "caf\\xe9"


@pytest.mark.parametrize(("key", "value", "has_content"), [(None, None, False), (b"", None, True), (None, b"", True)])
def test_a_tombstone_has_content_and_a_dead_letter_without_a_copy_has_none(
    key: bytes | None, value: bytes | None, has_content: bool
) -> None:
    assert made_letter(key=key, value=value).has_content is has_content


def test_the_count_of_a_record_that_was_sent_again() -> None:
    assert times_sent_again(()) == 0
    assert times_sent_again((("__dlq.sent.again", b"2"),)) == 2
    assert times_sent_again((("__dlq.sent.again", b"two"),)) is None


@pytest.mark.parametrize("text", ["", "0", "0@", "@1", "a@1", "0@-1", "0@1@2", "0@²"])
def test_a_place_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not of the form PARTITION@OFFSET, such as 0@12"):
        RecordPlace.parse(text)


def test_a_place_is_read_as_it_is_shown() -> None:
    assert RecordPlace.parse("3@41") == RecordPlace(3, 41)
    assert str(RecordPlace(3, 41)) == "3@41"
