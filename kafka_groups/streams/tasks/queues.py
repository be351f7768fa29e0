"""The records that wait in a task, one queue for each partition that it reads."""

from collections import deque
from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.changes import change_deserializer
from kafka_groups.streams.processors.extractors import KEEP_VALID
from kafka_groups.streams.tasks.failures import TaskFailures
from kafka_groups.streams.topology.nodes import NodeStep, SourceNode, TimestampExtractor
from kafka_groups.streams.topology.records import Record, SourceRecord
from kafka_groups.types import FetchedRecord, Headers, TopicPartition

__all__ = ["Head", "PartitionQueue"]

_NO_TIME = -1


class Head(NamedTuple):
    """The next record of a queue."""

    offset: int
    key: Any
    value: Any
    timestamp_ms: int
    headers: Headers


class PartitionQueue:
    """The records of one partition. Only the first is decoded, as its timestamp decides when its turn is.

    Attributes:
        partition: The partition.
        topic: Its topic.
        step: What to do with a record.
        time_ms: The highest timestamp so far, or -1.
        position: The offset after the last record that was taken or skipped.
        node: The name of its source node.
        raw: The record that was decoded last, as the partition has it: the one that `take` returns.
    """

    def __init__(
        self,
        partition: TopicPartition,
        source: SourceNode,
        step: NodeStep,
        extractor: TimestampExtractor,
        failures: TaskFailures,
        wall_ms: Callable[[], int],
    ) -> None:
        self.partition = partition
        self.topic = partition.topic
        self.node = source.name
        self.step = step
        self.time_ms = _NO_TIME
        self.position: int | None = None
        self.raw: FetchedRecord | None = None
        self._source = source
        self._added = 0
        self._waiting: deque[FetchedRecord] = deque()
        self._head: Head | None = None
        self._extractor = source.timestamp or extractor
        self._keeps_valid = self._extractor in KEEP_VALID
        self._failures = failures
        self._wall_ms = wall_ms
        self._read_key = source.key.deserializer(partition.topic, is_key=True)
        self._read_value = (
            change_deserializer(source.value, partition.topic)
            if source.gives_changes
            else source.value.deserializer(partition.topic, is_key=False)
        )

    def __len__(self) -> int:
        return len(self._waiting) + (self._head is not None)

    def add(self, records: list[FetchedRecord]) -> None:
        """Add records in the order of their offsets."""
        self._waiting.extend(records)
        self._added += len(records)

    @property
    def taken(self) -> int:
        """The number of records that were taken or skipped."""
        return self._added - len(self)

    def head(self) -> Head | None:
        """Return the next record, or None. Records that are skipped are taken away."""
        head, waiting = self._head, self._waiting
        while head is None and waiting:
            # Only the head is decoded (RecordQueue.updateHead in Kafka). A record that is dropped gives way to the next
            # one, so that the queue never shows a head that cannot be processed.
            head = self._head = self._decoded(waiting.popleft())
        return head

    def take(self) -> Head | None:
        """Take the next record away, and return it, or None if there is none."""
        head = self.head() if self._head is None else self._head
        if head is None:
            return None
        self._head = None
        # The partition's time never goes back: late records are processed, and do not change it (RecordQueue.poll).
        self.position = head.offset + 1
        self.time_ms = max(self.time_ms, head.timestamp_ms)
        return head

    def _decoded(self, record: FetchedRecord) -> Head | None:
        self.raw = record
        offset, key_bytes, value_bytes, timestamp_ms, headers = record
        try:
            # A null stays null, and no deserializer is asked. Java asks it (SourceNode.deserializeKey), and its own
            # deserializers return null for null.
            key = None if key_bytes is None else self._read_key(key_bytes, headers)
            value = None if value_bytes is None else self._read_value(value_bytes, headers)
        except Exception as error:
            # A deserializer may raise anything. The application's handler decides, as in
            # RecordDeserializer.deserialize; if it skips the record, the offset is committed past it. For that, Java
            # puts a CorruptedRecord in the place of the head (RecordQueue.updateHead).
            given = Record(key_bytes, value_bytes, timestamp_ms, headers)
            self._failures.deserialization(self._source.name, error, self.partition, offset, given)
            self.position = offset + 1
            return None
        # The ready extractors look at negative timestamps only, so most records need no call.
        if timestamp_ms >= 0 and self._keeps_valid:
            return Head(offset, key, value, timestamp_ms, headers)
        return self._timed(record, key, value)

    def _timed(self, record: FetchedRecord, key: Any, value: Any) -> Head | None:
        """Return the record with the time that the extractor gives it."""
        topic, partition = self.partition.topic, self.partition.partition
        given = SourceRecord(
            topic, partition, record.offset, key, value, record.timestamp_ms, record.headers, self._wall_ms()
        )
        # The extractor gets the partition's time up to the record before, which UsePartitionTimeOnInvalidTimestamp in
        # Kafka returns in place of a negative timestamp.
        timestamp_ms = self._extracted(given)
        # A negative timestamp drops the record without asking a handler (RecordQueue.updateHead).
        if timestamp_ms < 0:
            self._failures.skipped(self._source.name, "its timestamp is negative", self.partition, record.offset)
            self.position = record.offset + 1
            return None
        return Head(record.offset, key, value, timestamp_ms, record.headers)

    def _extracted(self, given: SourceRecord) -> int:
        try:
            return index(self._extractor(given, self.time_ms))
        except StreamsError:  # of a ready extractor, whose text names the record
            raise
        except Exception as error:
            # The user's extractor may raise anything. That ends the task in Java, too: no handler is asked
            # (RecordQueue.updateHead).
            raise self._failures.extraction(self._source.name, error, self.partition, given.offset) from error
