"""Records of dead-letter topics: where each one came from, why, and how often it was sent again.

The headers are those of KIP-1191, which workers write as well as brokers.
"""

from typing import Final, Self

from attrs import frozen

from kafka_groups.types import FetchedRecord, Headers, TopicPartition

__all__ = ["DLQ", "SENT_AGAIN", "DeadLetterOrigin", "DeadLetterRecord", "RecordPlace"]

DLQ: Final = "__dlq."
"""All headers of dead letters begin with this."""

SENT_AGAIN: Final = "__dlq.sent.again"
"""The header that counts how often a record was sent again."""

_ERRORS: Final = "__dlq.errors."
_TRUE: Final = b"true"


@frozen(order=True)
class RecordPlace:
    """The place of a record in its topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}@{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the place that a user writes as `PARTITION@OFFSET`.

        Raises:
            ValueError: The text has another form.
        """
        partition, _, offset = text.partition("@")
        if not (_is_number(partition) and _is_number(offset)):
            raise ValueError(f"{text!r} is not of the form PARTITION@OFFSET, such as 0@12.")
        return cls(int(partition), int(offset))


@frozen
class DeadLetterOrigin:
    """The record that a dead letter is a copy of."""

    partition: TopicPartition
    offset: int

    def __str__(self) -> str:
        return f"{self.partition.topic}:{self.partition.partition}@{self.offset}"


@frozen
class DeadLetterRecord:
    """A record of a dead-letter topic.

    A topic may have other records, too: their properties are None.

    Attributes:
        partition: Its partition in the dead-letter topic.
        record: The record.
    """

    partition: TopicPartition
    record: FetchedRecord

    def __str__(self) -> str:
        return f"{self.partition.topic} {self.place}"

    @property
    def place(self) -> RecordPlace:
        """Its partition and offset."""
        return RecordPlace(self.partition.partition, self.record.offset)

    @property
    def origin(self) -> DeadLetterOrigin | None:
        """The record that it is a copy of. None: its headers don't say it."""
        topic, partition, offset = self._error("topic"), self._number("partition"), self._number("offset")
        if not topic or partition is None or offset is None:
            return None
        return DeadLetterOrigin(TopicPartition(topic, partition), offset)

    @property
    def group(self) -> str | None:
        """The group in which the record was given up."""
        return self._error("group")

    @property
    def delivery_count(self) -> int | None:
        """The number of deliveries of the record when it was given up."""
        return self._number("delivery.count")

    @property
    def reason(self) -> str | None:
        """The reason why the record was given up."""
        return self._error("message")

    @property
    def is_possible_duplicate(self) -> bool:
        """True if there may be another copy of the record."""
        return last_header(self.record.headers, f"{_ERRORS}possible.duplicate") == _TRUE

    @property
    def has_content(self) -> bool:
        """False if it has neither key nor value: brokers copy them only with `copy.record.enable`."""
        return self.record.key is not None or self.record.value is not None

    def _error(self, name: str) -> str | None:
        return _text(last_header(self.record.headers, f"{_ERRORS}{name}"))

    def _number(self, name: str) -> int | None:
        text = self._error(name)
        return int(text) if text is not None and _is_number(text) else None


def last_header(headers: Headers, name: str) -> bytes | None:
    """Return the value of the last header of a name; None if there is none, or it is null.

    The last one counts: headers that were added when a record was given up come after those that it had.
    """
    return next((value for each, value in reversed(headers) if each == name), None)


def times_sent_again(headers: Headers) -> int | None:
    """Return how often a record was sent again. None: its header does not say a number."""
    text = _text(last_header(headers, SENT_AGAIN))
    if text is None:
        return 0
    return int(text) if _is_number(text) else None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
