"""Records that are to be written, and the results of writing them, for whoever waits for confirmations."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.types import Headers

__all__ = ["RecordToWrite", "WriteOutcome"]


@frozen
class RecordToWrite:
    """A record that is to be written.

    Attributes:
        topic: The topic.
        key: The key.
        value: The value; None is a tombstone.
        headers: The headers, in order.
        timestamp_ms: Milliseconds since the epoch; None for the time of writing.
        partition: The partition; None for the one that Java's partitioner chooses.
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
    """The result of writing records.

    Attributes:
        tokens: What the records were given with, in the order of writing.
        error: None if all in-sync replicas have the records. Otherwise they are not written, for good unless the error
            is `retriable`.
        may_be_written: Whether a record may be in the log in spite of the error.
    """

    tokens: Sequence[object]
    error: Exception | None = None
    may_be_written: bool = False
