"""Metrics of single records, which cost time for each one: at the level DEBUG of `metrics.recording.level`."""

from typing import Any

from attrs import define, field

from kafka_groups.client.windows import Windows
from kafka_groups.net.clock import Clock
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.types import Headers, RecordRow

__all__ = ["RecordSensors", "measure_records"]

_NUMBERS_BYTES = 8 + 8 + 4
"""A timestamp, an offset and a partition, which Kafka Streams counts, too."""


@define
class RecordSensors:
    """Metrics of the records that a task has taken from one partition.

    Attributes:
        bytes_total: Their size, counted as in Kafka Streams.
        ages: How old each one is by the wall clock when it is processed, in ms.
        minus_ages: The same below 0, because the smallest age is wanted, too.
    """

    bytes_total: int = 0
    ages: Windows = field(factory=Windows)
    minus_ages: Windows = field(factory=Windows)

    def took(self, size_bytes: int, age_ms: int, now_ms: int) -> None:
        """Note a record."""
        self.bytes_total += size_bytes
        self.ages.record(age_ms, now_ms)
        self.minus_ages.record(-age_ms, now_ms)


def measure_records(
    queue: PartitionQueue, task: StreamTask, sensors: RecordSensors, lateness: Windows, clock: Clock
) -> None:
    """Measure each record of a partition from now on.

    Args:
        queue: The records of the partition.
        task: Its task.
        sensors: Gets the metrics of the partition.
        lateness: Gets how far each record is behind stream time, in ms.
        clock: Says how old a record is.
    """
    step, topic_bytes = queue.step, len(queue.topic.encode())

    def measured(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        size_bytes, now_ms = topic_bytes + _size(task.record.raw), clock.now_ms()
        sensors.took(size_bytes, clock.wall_ms() - timestamp_ms, now_ms)
        lateness.record(task.stream_time_ms - timestamp_ms, now_ms)
        step(key, value, timestamp_ms, headers)

    queue.step = measured


def _size(record: RecordRow | None) -> int:
    if record is None:
        raise RuntimeError("a task processes a record that no partition has")
    _, key, value, _, headers = record
    header_bytes = sum(len(name.encode()) + len(content or b"") for name, content in headers)
    return _NUMBERS_BYTES + len(key or b"") + len(value or b"") + header_bytes
