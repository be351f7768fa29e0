"""The records that wait in a task, one queue for each partition that it reads."""

from collections import deque
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Protocol

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.changes import change_deserializer
from kafka_groups.streams.processors.extractors import KEEP_VALID
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.tasks.failures import TaskFailures
from kafka_groups.streams.tasks.punctuation import Schedule
from kafka_groups.streams.topology.nodes import NodeStep, SourceNode, TimestampExtractor
from kafka_groups.streams.topology.records import Record, SourceRecord
from kafka_groups.types import RecordRow, TopicPartition

__all__ = ["HeadRecord", "PartitionQueue", "QueueTask"]

_NO_TIME = -1

HeadRecord = tuple[RecordRow, Any, Any, int]
"""A record as its partition has it, with its key, its value and the timestamp that the extractor gave it."""


class QueueTask(Protocol):
    """A task, as its queues see it.

    Attributes:
        record: The record that it processes.
        stream_time_ms: The highest timestamp that it has taken.
        stream_schedule: What it calls by stream time.
        is_commit_requested: Whether a processor has asked for a commit.
    """

    record: RecordContext
    stream_time_ms: int
    stream_schedule: Schedule
    is_commit_requested: bool

    def punctuate_stream_time(self) -> None:
        """Call what is due by stream time."""


class PartitionQueue:
    """The records of one partition, which are decoded one by one.

    A task with several queues decodes the first of each, as its timestamp decides when its turn is. A task with a
    single queue decodes a record when it processes it.

    Attributes:
        partition: The partition.
        topic: Its topic.
        step: What to do with a record.
        time_ms: The highest timestamp so far, or -1.
        position: The offset after the last record that was processed or skipped.
        is_former: Whether the records that wait, and the position, belong to a log that is no more. The position is not
            to be committed.
        diverges_at: The offset from which on the log is another one than that of the records that wait, or None.
        log_number: The number of logs that the partition has had before the one that is read now, since the task began.
        node: The name of its source node.
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
        self.is_former = False
        self.diverges_at: int | None = None
        self.log_number = 0
        self._source = source
        self._added = 0
        self._waiting: deque[RecordRow] = deque()
        self._head: HeadRecord | None = None
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

    def add(self, records: Sequence[RecordRow]) -> None:
        """Add records in the order of their offsets."""
        self._waiting.extend(records)
        self._added += len(records)

    def leave_log(self, diverges_at: int | None = None) -> None:
        """Note that the log, of which records may wait, is another one now: from an offset on, or as a whole."""
        self.is_former = diverges_at is None
        self.diverges_at = diverges_at
        self.log_number += 1

    def enter_log(self) -> None:
        """Note that no record of a log before waits any more."""
        self.is_former, self.diverges_at = False, None

    @property
    def committable(self) -> int | None:
        """The offset to commit: it is in the log as it is now. None: there is none."""
        if self.position is None or self.diverges_at is None:
            return self.position
        return min(self.position, self.diverges_at)

    @property
    def taken(self) -> int:
        """The number of records that were taken or skipped."""
        return self._added - len(self)

    def head(self) -> HeadRecord | None:
        """Decode the next record and return it, or None if there is none. Records that are skipped are taken away."""
        # Only the head is decoded (RecordQueue.updateHead in Kafka). A record that is dropped gives way to the next
        # one, so that the queue never shows a head that cannot be processed.
        while self._head is None and self._waiting:
            self._head = self._decoded(self._waiting.popleft())
        return self._head

    def process_head(self, task: QueueTask) -> None:
        """Process the record that `head` has returned, and what is due by stream time after it."""
        if self._head is None:
            raise RuntimeError("a task takes a record that is not decoded")
        (raw, key, value, timestamp_ms), self._head = self._head, None
        offset, _, _, _, headers = raw
        # The partition's time never goes back: late records are processed, and do not change it (RecordQueue.poll).
        self.time_ms = max(self.time_ms, timestamp_ms)
        task.stream_time_ms = max(task.stream_time_ms, timestamp_ms)
        record = task.record
        record.topic, record.partition, record.offset = self.topic, self.partition.partition, offset
        record.timestamp_ms, record.headers, record.raw = timestamp_ms, headers, raw
        try:
            self.step(key, value, timestamp_ms, headers)
            if task.stream_schedule.is_used:
                task.punctuate_stream_time()
            self.position = offset + 1
        finally:
            record.clear(task.stream_time_ms)

    def process(self, task: QueueTask, most: int) -> int:
        """Process up to so many records, and what is due by stream time after each. Return their number.

        Stops behind a record that asks for a commit. If one fails, the position is that of the failed record.
        """
        if self._head is not None and most:
            self.process_head(task)
            return 1 if task.is_commit_requested else 1 + self.process(task, most - 1)
        # This loop and the steps of the nodes are most of what a record costs, so it calls nothing else for a usual
        # record.
        record, schedule, step, time_ms = task.record, task.stream_schedule, self.step, self.time_ms
        topic, partition, waiting = self.topic, self.partition.partition, self._waiting
        read_key, read_value, keeps_valid = self._read_key, self._read_value, self._keeps_valid
        count, passed = 0, None
        try:
            while count < most and waiting:
                raw = waiting.popleft()
                offset, key_bytes, value_bytes, timestamp_ms, headers = raw
                try:
                    key = None if key_bytes is None else read_key(key_bytes, headers)
                    value = None if value_bytes is None else read_value(value_bytes, headers)
                except Exception as error:  # a deserializer may raise anything: the handler decides
                    self._undecodable(raw, error)
                    passed = offset
                    continue
                # The ready extractors look at negative timestamps only, so most records need no call.
                if timestamp_ms < 0 or not keeps_valid:
                    timestamp_ms = self._timestamp_of(raw, key, value)
                    if timestamp_ms < 0:
                        passed = offset
                        continue
                # Stream time advances before the record is processed, so that processors see it
                # (PartitionGroup.nextRecord). It is never behind the time of a partition.
                if timestamp_ms > time_ms:
                    self.time_ms = time_ms = timestamp_ms
                    task.stream_time_ms = max(task.stream_time_ms, timestamp_ms)
                record.topic, record.partition, record.offset = topic, partition, offset
                record.timestamp_ms, record.headers, record.raw = timestamp_ms, headers, raw
                step(key, value, timestamp_ms, headers)
                if schedule.is_used:
                    task.punctuate_stream_time()
                passed = offset
                count += 1
                if task.is_commit_requested:
                    break
        finally:
            if passed is not None:
                self.position = passed + 1
            record.clear(task.stream_time_ms)
        return count

    def _decoded(self, raw: RecordRow) -> HeadRecord | None:
        offset, key_bytes, value_bytes, timestamp_ms, headers = raw
        try:
            # A null stays null, and no deserializer is asked. Java asks it (SourceNode.deserializeKey), and its own
            # deserializers return null for null.
            key = None if key_bytes is None else self._read_key(key_bytes, headers)
            value = None if value_bytes is None else self._read_value(value_bytes, headers)
        except Exception as error:  # a deserializer may raise anything: the handler decides
            self._undecodable(raw, error)
            self.position = offset + 1
            return None
        if timestamp_ms < 0 or not self._keeps_valid:
            timestamp_ms = self._timestamp_of(raw, key, value)
            if timestamp_ms < 0:
                self.position = offset + 1
                return None
        return raw, key, value, timestamp_ms

    def _undecodable(self, raw: RecordRow, error: Exception) -> None:
        """Raise, or return to skip a record that cannot be decoded."""
        # The application's handler decides, as in RecordDeserializer.deserialize; if it skips the record, the offset is
        # committed past it. For that, Java puts a CorruptedRecord in the place of the head (RecordQueue.updateHead).
        offset, key, value, timestamp_ms, headers = raw
        given = Record(key, value, timestamp_ms, headers)
        self._failures.deserialization(self._source.name, error, self.partition, offset, given)

    def _timestamp_of(self, raw: RecordRow, key: Any, value: Any) -> int:
        """Return the time that the extractor gives a record. It is dropped if that is negative."""
        topic, partition = self.partition.topic, self.partition.partition
        offset, _, _, given_ms, headers = raw
        given = SourceRecord(topic, partition, offset, key, value, given_ms, headers, self._wall_ms())
        # The extractor gets the partition's time up to the record before, which UsePartitionTimeOnInvalidTimestamp in
        # Kafka returns in place of a negative timestamp.
        timestamp_ms = self._extracted(given)
        # A negative timestamp drops the record without asking a handler (RecordQueue.updateHead).
        if timestamp_ms < 0:
            self._failures.skipped(self._source.name, "its timestamp is negative", self.partition, offset)
        return timestamp_ms

    def _extracted(self, given: SourceRecord) -> int:
        try:
            return index(self._extractor(given, self.time_ms))
        except StreamsError:  # of a ready extractor, whose text names the record
            raise
        except Exception as error:
            # The user's extractor may raise anything. That ends the task in Java, too: no handler is asked
            # (RecordQueue.updateHead).
            raise self._failures.extraction(self._source.name, error, self.partition, given.offset) from error
