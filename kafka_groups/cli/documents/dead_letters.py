"""The documents of `kafka-groups dead-letters`."""

from attrs import frozen

from kafka_groups.cli.documents.document import JsonBytes

__all__ = [
    "CountEntry",
    "DeadLetterContents",
    "DeadLetterEntry",
    "DeletedRecordsEntry",
    "OriginEntry",
    "PlannedLetterEntry",
    "SentLettersEntry",
]


@frozen
class OriginEntry:
    """The record that a dead letter is a copy of.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
    """

    topic: str
    partition: int
    offset: int


@frozen
class DeadLetterEntry:
    """A dead letter.

    Attributes:
        topic: The dead-letter topic.
        partition: Its partition there.
        offset: Its offset there.
        timestamp_ms: Its time, in milliseconds since 1970, or null.
        origin: The record that it is a copy of, or null if its headers don't say it.
        group: The group in which the record was given up, or null.
        delivery_count: The number of deliveries of the record, or null.
        reason: The reason why it was given up, or null.
        possible_duplicate: Whether there may be another copy of the record.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    origin: OriginEntry | None
    group: str | None
    delivery_count: int | None
    reason: str | None
    possible_duplicate: bool


@frozen
class DeadLetterContents(DeadLetterEntry):
    """A dead letter with all that it contains.

    Attributes:
        sent_again: How often the record was sent again, or null if its header does not say a number.
        key: The key as text, or as base64 if it is not UTF-8, or null.
        value: The value as text, or as base64 if it is not UTF-8, or null.
        headers: The headers, as pairs of name and value.
    """

    sent_again: int | None
    key: JsonBytes
    value: JsonBytes
    headers: tuple[tuple[str, JsonBytes], ...]


@frozen
class CountEntry:
    """The dead letters of one origin with one error.

    Attributes:
        origin: The topic that they came from, or null if their headers don't say it.
        error: The class of their exception, or else their reason, or null.
        count: Their number.
        first_ms: The earliest time, in milliseconds since 1970, or null.
        last_ms: The latest time, in milliseconds since 1970, or null.
    """

    origin: str | None
    error: str | None
    count: int
    first_ms: int | None
    last_ms: int | None


@frozen
class PlannedLetterEntry:
    """A dead letter that would be sent again.

    Attributes:
        topic: The dead-letter topic.
        partition: Its partition there.
        offset: Its offset there.
        to: The topic to which its record would be written.
    """

    topic: str
    partition: int
    offset: int
    to: str


@frozen
class SentLettersEntry:
    """The dead letters that were sent to a topic.

    Attributes:
        to: The topic.
        count: Their number.
    """

    to: str
    count: int


@frozen
class DeletedRecordsEntry:
    """The records of a partition that were deleted, or would be.

    Attributes:
        topic: The topic.
        partition: The partition.
        begin: The offset of the first record.
        before: The offset of the first record that stays, or the end of the partition.
    """

    topic: str
    partition: int
    begin: int
    before: int
