"""Make the records that a driver delivers."""

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.serdes.serde import Serde
from kafka_groups.share.delivery.delivery import Delivery, SessionId
from kafka_groups.share.delivery.records import AnyRecord, ShareRecord
from kafka_groups.share.workers.rules.retry_topics.retried_records import retry_state_of
from kafka_groups.types import Header, TopicIdPartition

__all__ = [
    "LOG_APPEND_TIME",
    "GivenHeaders",
    "LogContent",
    "RawValue",
    "RecordLog",
    "content_of",
    "content_of_record",
    "delivered",
]

GivenHeaders = Iterable[tuple[str, bytes | str | None]]
"""Headers as a test gives them: values may be text."""

_SESSION = SessionId(0, 0)
_NO_DEADLINE_MS = 0
_CREATE_TIME = 0
LOG_APPEND_TIME = 1


@frozen
class RawValue:
    """The bytes of a value, which the handler's serde does not write: for values that cannot be parsed.

    Attributes:
        data: The bytes; None is null.
    """

    data: bytes | None


@frozen(kw_only=True)
class LogContent:
    """A record of a topic's log: the fields that the client's codec would read.

    Attributes:
        offset: Its offset.
        timestamp: Milliseconds since the epoch.
        timestamp_type: 0, set by the producer, or 1, set by the broker.
        key: Its key.
        value: Its value.
        headers: Its headers.
    """

    offset: int = 0
    timestamp: int
    timestamp_type: int = _CREATE_TIME
    key: bytes | None
    value: bytes | None
    headers: list[Header]


def content_of(
    topic: str, value: object, serde: Serde[Any] | None, *, key: object, headers: GivenHeaders, timestamp: int
) -> LogContent:
    """Serialise a record as its producer would.

    Raises:
        ConfigurationError: Key, value or a header has a wrong type.
        SerializationError: The value does not fit the serde.
    """
    written: list[Header] = [(name, _bytes_of(f"headers: {name}", data)) for name, data in headers]
    data = _serialised(topic, value, serde, written)
    return LogContent(timestamp=timestamp, key=_bytes_of("key", key), value=data, headers=written)


def _serialised(topic: str, value: object, serde: Serde[Any] | None, headers: list[Header]) -> bytes | None:
    if isinstance(value, RawValue):
        return value.data
    if value is None or (isinstance(value, bytes) and serde is None):
        return value
    if serde is None:
        raise ConfigurationError(
            f"value={value!r}: the handler of {topic!r} gets bytes, as it has no serde. Give bytes"
        )
    return serde.serializer(topic, is_key=False)(value, headers)


def _bytes_of(name: str, given: object) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, str):
        return given.encode()
    raise ConfigurationError(f"{name}={given!r}: give bytes, text or None")


class RecordLog:
    """The partitions of the topics: each appended record gets the next offset."""

    def __init__(self) -> None:
        self._next_offsets: Counter[tuple[str, int]] = Counter()

    def append(self, topic: str, partition: int, contents: Sequence[LogContent]) -> list[LogContent]:
        """Return the records with their offsets."""
        first = self._next_offsets[topic, partition]
        self._next_offsets[topic, partition] += len(contents)
        return [evolve(content, offset=first + index) for index, content in enumerate(contents)]


def delivered(topic: str, partition: int, contents: Sequence[LogContent], delivery_count: int) -> list[AnyRecord]:
    """Return consecutive records of a log, as a consumer that has acquired them together hands them over."""
    place = TopicIdPartition(uuid.uuid5(uuid.NAMESPACE_URL, topic), partition, topic)
    acquired = AcquiredRecords(
        first_offset=contents[0].offset, last_offset=contents[-1].offset, delivery_count=delivery_count
    )
    delivery = Delivery(place, _SESSION, [acquired], _NO_DEADLINE_MS)
    return [ShareRecord(content, delivery) for content in contents]


def content_of_record(record: AnyRecord) -> LogContent:
    """Return a delivered record's entry in the log, to deliver it again."""
    return LogContent(
        offset=record.offset,
        timestamp=record.timestamp or 0,
        key=record.raw_key,
        value=record.raw_value,
        headers=_all_headers(record),
    )


def _all_headers(record: AnyRecord) -> list[Header]:
    """Return the headers of a record in its topic: those of a retry topic follow its own."""
    state = retry_state_of(record)
    return record.headers if state is None else [*record.headers, *state.headers()]
