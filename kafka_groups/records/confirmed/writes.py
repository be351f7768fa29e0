"""The records that a `ConfirmedWriter` takes, and the outcomes that it reports."""

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import Headers

__all__ = ["RecordToWrite", "WritableRecord", "WriteOutcome"]


class WritableRecord(Protocol):
    """A record that can be written; `RecordToWrite` has its attributes and their meaning."""

    @property
    def topic(self) -> str: ...  # noqa: D102

    @property
    def key(self) -> bytes | None: ...  # noqa: D102

    @property
    def value(self) -> bytes | None: ...  # noqa: D102

    @property
    def headers(self) -> Headers: ...  # noqa: D102

    @property
    def timestamp_ms(self) -> int | None: ...  # noqa: D102

    @property
    def partition(self) -> int | None: ...  # noqa: D102


@frozen
class RecordToWrite:
    """A record to write.

    Attributes:
        topic: The topic.
        key: The key.
        value: The value.
        headers: The headers.
        timestamp_ms: The timestamp in milliseconds since the epoch. None: now.
        partition: The partition. None: as Java's partitioner chooses it, by the key, or any one if there is no key.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int | None = None
    partition: int | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes of key, value and headers."""
        size = len(self.key or b"") + len(self.value or b"")
        return size + sum(len(name) + len(value or b"") for name, value in self.headers) if self.headers else size


@frozen
class WriteOutcome:
    """The outcome of writes.

    Attributes:
        tokens: The tokens of the writes. Those for one partition are in the order of its log.
        error: None: all in-sync replicas have all records of these writes. Otherwise brokers have refused a record; if
            the error is `retriable`, writing it again may succeed.
        may_be_written: Whether records may be in a log although there is an error: another record of the same write
            was sent, or an earlier attempt got no answer.
    """

    tokens: Sequence[object]
    error: KafkaGroupsError | None = None
    may_be_written: bool = False
