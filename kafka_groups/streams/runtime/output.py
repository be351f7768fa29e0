"""The output of a worker: records of sinks, and changes of stores."""

from collections.abc import Iterable

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.runtime.plane import DataPlane
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.state.store import ChangelogRecord
from kafka_groups.types import Headers

__all__ = ["WorkerOutput"]


class WorkerOutput:
    """Writes to the data plane; a topic that does not exist is an error at its first record.

    Attributes:
        wall_ms: The wall-clock time, for changes without a timestamp.
    """

    def __init__(self, plane: DataPlane, clock: Clock, task_timeout_ms: int) -> None:
        self.wall_ms = 0
        self._questions = TaskTimeout(clock, task_timeout_ms)
        self._plane = plane
        self._write = plane.write
        self._counts: dict[str, int] = {}

    def partitions(self, topic: str) -> int:
        """Return a topic's number of partitions. Blocks the first time, while brokers do not answer.

        Raises:
            StreamsError: There is no such topic.
            KafkaGroupsError: The brokers refused, or did not answer for `task.timeout.ms`.
        """
        count = self._counts.get(topic) or self._asked(topic)
        if count is None:
            raise StreamsError(f"Topic {topic!r} does not exist, and a sink writes to it. Create it first.")
        self._counts[topic] = count
        return count

    def _asked(self, topic: str) -> int | None:
        """Ask until brokers answer: the record that is being processed cannot be put back."""
        while True:
            try:
                count = self._plane.partitions(topic)
            except KafkaGroupsError as error:
                self._questions.note(f"The number of partitions of {topic} is unknown", error)
            else:
                self._questions.end()
                return count

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        """Write a record of a sink.

        Raises:
            StreamsError: There is no such topic, or no such partition.
        """
        count = self._counts.get(topic) or self.partitions(topic)
        if partition is not None and not 0 <= partition < count:
            raise StreamsError(
                f"A partitioner chose partition {partition} of topic {topic!r}, which has the partitions 0 to "
                f"{count - 1}. Return one of them, or None for the default."
            )
        self._write(topic, key, value, timestamp_ms, headers, partition)

    def log(self, topic: str, partition: int, records: Iterable[ChangelogRecord]) -> None:
        """Write changes of a store."""
        write, now_ms = self._plane.write_tracked, self.wall_ms
        for key, value, timestamp_ms, headers in records:
            write(topic, key, value, now_ms if timestamp_ms is None else timestamp_ms, headers, partition)
