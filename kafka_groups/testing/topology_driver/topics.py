"""The topics of a driver: records go in, and come out."""

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from attrs import frozen

from kafka_groups.serdes import Serde
from kafka_groups.types import Header, Headers

__all__ = ["CapturedRecord", "OutputRecord", "TestInputTopic", "TestOutputTopic"]

K = TypeVar("K")
V = TypeVar("V")

Pipe = Callable[[str, bytes | None, bytes | None, int, Headers, int | None], None]


class CapturedRecord(NamedTuple):
    """A record that was written to a topic, as bytes.

    Attributes:
        topic: The topic.
        partition: Its partition.
        key: Its key.
        value: Its value.
        timestamp_ms: Its timestamp.
        headers: Its headers.
    """

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers = ()


@frozen
class OutputRecord(Generic[K, V]):
    """A record that was read from an output topic.

    Attributes:
        key: Its key.
        value: Its value.
        timestamp_ms: Its timestamp.
        headers: Its headers.
    """

    key: K
    value: V
    timestamp_ms: int
    headers: Headers = ()


class TestInputTopic(Generic[K, V]):
    """Pipes records into a topology. Made by `TopologyTestDriver.input_topic`."""

    __test__ = False  # not a class of tests

    def __init__(self, name: str, key: Serde[K], value: Serde[V], pipe: Pipe, now_ms: Callable[[], int]) -> None:
        self.name = name
        self._key = key.serializer(name, is_key=True)
        self._value = value.serializer(name, is_key=False)
        self._pipe = pipe
        self._now_ms = now_ms

    def __repr__(self) -> str:
        return f"<TestInputTopic {self.name!r}>"

    def pipe(
        self,
        key: K | None,
        value: V | None,
        *,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] = (),
        partition: int | None = None,
    ) -> None:
        """Pipe a record, and process all that follows from it.

        Args:
            key: Its key.
            value: Its value; None is a tombstone for a table.
            timestamp_ms: Its timestamp. None: the driver's wall-clock time.
            headers: Its headers.
            partition: Its partition. None: the default partitioner's.

        Raises:
            StreamsError: Code of the topology raised an exception, and no handler skipped the record.
        """
        written = list(headers)
        key_bytes = None if key is None else self._key(key, written)
        value_bytes = None if value is None else self._value(value, written)
        time_ms = self._now_ms() if timestamp_ms is None else timestamp_ms
        self._pipe(self.name, key_bytes, value_bytes, time_ms, tuple(written), partition)


class TestOutputTopic(Generic[K, V]):
    """Reads what a topology wrote to a topic. Made by `TopologyTestDriver.output_topic`."""

    __test__ = False  # not a class of tests

    def __init__(self, name: str, key: Serde[K], value: Serde[V], records: list[CapturedRecord]) -> None:
        self.name = name
        self._key = key.deserializer(name, is_key=True)
        self._value = value.deserializer(name, is_key=False)
        self._records = records
        self._next = 0

    def __repr__(self) -> str:
        return f"<TestOutputTopic {self.name!r}: {len(self)} unread>"

    def __len__(self) -> int:
        """Return how many records are unread."""
        return len(self._records) - self._next

    def read(self) -> OutputRecord[K, V]:
        """Return the next record.

        Raises:
            LookupError: There is none.
        """
        if not len(self):
            raise LookupError(f"Output topic {self.name!r} has no more records: {self._next} were read.")
        record = self._records[self._next]
        self._next += 1
        return self._decoded(record)

    def read_all(self) -> list[OutputRecord[K, V]]:
        """Return all records that are unread."""
        unread = self._records[self._next :]
        self._next = len(self._records)
        return [self._decoded(record) for record in unread]

    def _decoded(self, record: CapturedRecord) -> OutputRecord[K, V]:
        # The types say K and V, as those of a stream do; nulls still come out as None.
        key = None if record.key is None else self._key(record.key, record.headers)
        value = None if record.value is None else self._value(record.value, record.headers)
        return OutputRecord(key, value, record.timestamp_ms, record.headers)  # type: ignore[arg-type]
