"""The output of a worker: records of sinks, and changes of stores."""

from collections.abc import Iterable
from typing import cast

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane, UnwrittenRecord
from kafka_groups.streams.processors.surroundings import LaterRefusal, decided
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.state.state_store import ChangelogRecord
from kafka_groups.streams.tasks.error_context import ErrorResponse
from kafka_groups.streams.tasks.record_refusals import OF_ONE_RECORD
from kafka_groups.streams.topology.partitioning import no_such_partition
from kafka_groups.types import Headers

__all__ = ["SettledRefusals", "WorkerOutput"]


_MOST_REMEMBERED = 10_000
"""The refused records that are remembered at a time."""
_MISSING_MS = 1_000
"""The time for which a topic that does not exist is not asked for again."""


@frozen
class SettledRefusals:
    """The decisions about records that brokers have refused.

    Attributes:
        count: The number of these records.
        retried: The error of one that is written again, or None.
    """

    count: int
    retried: KafkaGroupsError | None


class WorkerOutput:
    """Writes to the data plane; a topic that does not exist is an error at its first record.

    Attributes:
        wall_ms: The wall-clock time, for changes without a timestamp.
        refuses_later: True, as brokers answer about records that are queued.
    """

    def __init__(self, plane: DataPlane, clock: Clock, task_timeout_ms: int) -> None:
        self.wall_ms = 0
        self.refuses_later = True
        self._questions = TaskTimeout(clock, task_timeout_ms)
        self._plane = plane
        self._write = plane.write
        self._clock = clock
        self._missing: dict[str, int] = {}
        self._denied: dict[str, KafkaGroupsError] = {}
        self._counts: dict[str, int] = {}
        self._remembered: dict[tuple[str, bytes | None, bytes | None, int, int], KafkaGroupsError] = {}

    def partitions(self, topic: str) -> int:
        """Return a topic's number of partitions. Blocks the first time, while brokers do not answer.

        Raises:
            UnknownTopicOrPartitionError: There is no such topic.
            TopicAuthorizationFailedError: The user may not write to it.
            KafkaGroupsError: The brokers refused, or did not answer for `task.timeout.ms`.
        """
        count = self._counts.get(topic)
        if count is not None:
            return count
        # A topic that was just created is found a second later at the latest, without a question for each record until
        # then.
        if self._clock.now_ms() >= self._missing.get(topic, 0):
            count = self._asked(topic)
        if count is None:
            self._missing.setdefault(topic, self._clock.now_ms() + _MISSING_MS)
            text = f"Topic {topic!r} does not exist, but a sink writes to it"
            raise self._denied.get(topic) or UnknownTopicOrPartitionError(text)
        self._counts[topic] = count
        return count

    def _asked(self, topic: str) -> int | None:
        """Ask until brokers answer: the record that is being processed cannot be put back."""
        self._denied.pop(topic, None)
        self._missing.pop(topic, None)
        while True:
            try:
                count = self._plane.partitions(topic)
            except TopicAuthorizationFailedError as error:
                self._denied[topic] = error
                return None
            except KafkaGroupsError as error:
                self._questions.note(f"The number of partitions of {topic} is unknown", error)
            else:
                self._questions.end()
                return count

    def send(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        later: LaterRefusal | None = None,
    ) -> None:
        """Write a record of a sink.

        Raises:
            StreamsError: There is no such partition.
            KafkaGroupsError: There is no such topic, or the producer refuses the record.
        """
        count = self._counts.get(topic) or self.partitions(topic)
        if partition is not None and not 0 <= partition < count:
            raise no_such_partition(topic, partition, count)
        if self._remembered:
            # The number of headers tells a dead letter from the shorter one that is written if it was too large.
            error = self._remembered.get((topic, key, value, timestamp_ms, len(headers)))
            if error is not None:
                raise error
        self._write(topic, key, value, timestamp_ms, headers, partition, later)

    def remember_refused(self) -> None:
        """Remember the records of sinks that brokers refuse whenever they come.

        They are refused at once when they come again, so that the production handler is asked.
        """
        refused = [
            each for each in self._refused() if isinstance(each.error, OF_ONE_RECORD) and not each.error.retriable
        ]
        for each in refused[: _MOST_REMEMBERED - len(self._remembered)]:
            self._remembered[each.topic, each.key, each.value, each.timestamp_ms, len(each.headers)] = each.error

    def forget_refused(self) -> None:
        """Forget the records that brokers have refused: what follows from other records is tried again."""
        self._remembered.clear()

    def settle(self) -> SettledRefusals:
        """Decide about the records of sinks that brokers have refused since the last call.

        Raises:
            StreamsError: One of them ends the worker.
        """
        refused = self._refused()
        retried = [each.error for each in refused if self._is_retried(each)]
        return SettledRefusals(len(refused), retried[0] if retried else None)

    def _refused(self) -> list[UnwrittenRecord]:
        """Return what brokers have refused. If they did not know a topic, the next record asks whether it exists."""
        refused = self._plane.refused()
        for each in refused:
            # The topic may have been deleted, or have fewer partitions, so its number is asked for again.
            if isinstance(each.error, UnknownTopicOrPartitionError):
                self._counts.pop(each.topic, None)
        return refused

    def _is_retried(self, record: UnwrittenRecord) -> bool:
        """Ask about a record, and write it again if so decided."""
        topic, key, value, timestamp_ms, headers, partition, error, origin = record
        later = cast("LaterRefusal", origin)
        is_retried = decided(later, error, topic, (key, value, timestamp_ms, headers)) is ErrorResponse.RETRY
        if is_retried:
            self._write(topic, key, value, timestamp_ms, headers, partition, later)
        return is_retried

    def log(self, topic: str, partition: int, records: Iterable[ChangelogRecord]) -> None:
        """Write changes of a store."""
        write, now_ms = self._plane.write_tracked, self.wall_ms
        for key, value, timestamp_ms, headers in records:
            write(topic, key, value, now_ms if timestamp_ms is None else timestamp_ms, headers, partition)
