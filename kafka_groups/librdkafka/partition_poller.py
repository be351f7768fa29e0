"""Reads assigned partitions in batches, for programs that process each partition on its own."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.librdkafka.client_log import process_log
from kafka_groups.librdkafka.configuration import reader_config
from kafka_groups.librdkafka.failures import error_in, failure_of, fetch_failure
from kafka_groups.librdkafka.offset_queries import bounds_of, offsets_at
from kafka_groups.records.interface import NOTHING, ListedRecords, PolledRecords
from kafka_groups.types import FetchedRecord, TopicPartition

__all__ = ["PartitionPoller"]

_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class PartitionPoller:
    """Polls assigned partitions; use it from one thread at a time.

    It tells when a partition was read to its end, and which partitions have lost the next offset.

    Args:
        config: Keys as for `PartitionReader`.
        group_id: The name under which librdkafka looks for a coordinator. Nothing joins or changes the group.

    Raises:
        ConfigurationError: A key is invalid.
    """

    def __init__(self, config: Mapping[str, object], group_id: str) -> None:
        self._assigned: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._first: Message | None = None
        self._failures: list[KafkaGroupsError] = []
        self._log = process_log()
        settings = {**reader_config(config, group_id), "enable.partition.eof": True, "logger": self._log}
        try:
            self._consumer = Consumer(settings)
        except KafkaException as error:
            raise ConfigurationError(f"librdkafka refuses the consumer's configuration: {error}") from error

    def __repr__(self) -> str:
        return f"<PartitionPoller of {', '.join(map(str, sorted(self._assigned))) or 'nothing'}>"

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that are read."""
        return frozenset(self._assigned)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read more partitions, or assigned ones from another offset on. Others are not disturbed."""
        self.unassign(self._assigned & starts.keys())
        self._consumer.incremental_assign([Position(at.topic, at.partition, start) for at, start in starts.items()])
        self._assigned |= starts.keys()

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading partitions. `poll` returns no more of their records."""
        ended = self._assigned & set(partitions)
        if ended:
            self.resume(ended & self._paused)  # librdkafka remembers it beyond the assignment
            self._consumer.incremental_unassign(_positions(ended))
            self._assigned -= ended
        if self._first is not None and TopicPartition(*_place(self._first)) not in self._assigned:
            self._first = None

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of some partitions for now. What was fetched already is fetched again later."""
        paused = set(partitions)
        self._consumer.pause(_positions(paused))
        self._paused |= paused

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch again after `pause`."""
        resumed = set(partitions)
        if resumed:
            self._consumer.resume(_positions(resumed))
            self._paused -= resumed

    def poll(self, most: int) -> PolledRecords:
        """Return what has arrived, without waiting.

        Raises:
            KafkaGroupsError: A partition cannot be read. Call it again if the error is retriable: librdkafka fetches
                the same offset again. Otherwise, the partition is not read until it is assigned again.
        """
        if self._failures:
            raise self._failures.pop(0)
        self._log.look()
        messages = self._consumer.consume(most, 0)
        if self._first is not None:
            messages, self._first = [self._first, *messages], None
        return self._sorted(messages) if messages else NOTHING

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to poll, or the time is up."""
        if self._first is None:
            self._first = self._consumer.poll(timeout_s)

    def _sorted(self, messages: list[Message]) -> PolledRecords:
        found: dict[tuple[str, int], ListedRecords] = {}
        ends: dict[TopicPartition, int] = {}
        lost: list[TopicPartition] = []
        assigned = frozenset(self._assigned)  # those that turn out to be lost, too: their records come before that
        broken: set[tuple[str, int]] = set()
        message: Any  # what messages return may be None only if there is an error
        for message in messages:
            place = message.topic(), message.partition()
            error = message.error()
            if broken and place in broken:  # librdkafka may have skipped a damaged batch
                continue
            if error is None:
                batch = found.get(place)
                if batch is None:
                    batch = found[place] = ListedRecords()
                # A record is made here, and not in a function, as this is a good part of what it costs to read one.
                headers = message.headers()
                key, value, time_ms = message.key(), message.value(), message.timestamp()[1]
                batch.append(FetchedRecord(message.offset(), key, value, time_ms, tuple(headers) if headers else ()))
            elif error.code() == KafkaError._PARTITION_EOF:
                ends[TopicPartition(*place)] = message.offset()
            else:
                self._failed(error, TopicPartition(*place), lost)
                if TopicPartition(*place) not in self._assigned:
                    broken.add(place)
        batches = {TopicPartition(*place): records for place, records in found.items()}
        kept = {place: records for place, records in batches.items() if place in assigned}
        reached = {place: end for place, end in ends.items() if place in assigned}
        return PolledRecords(kept, reached, tuple(lost))

    def _failed(self, error: KafkaError, place: TopicPartition, lost: list[TopicPartition]) -> None:
        if place not in self._assigned:
            return
        if error.code() in _OUT_OF_RANGE:
            self.unassign([place])
            lost.append(place)
            return
        failure = fetch_failure(error, f"{place} cannot be read")
        self._failures.append(failure)  # the records polled with this error are returned first
        if not failure.retriable:
            self.unassign([place])

    # ----------------------------------------------------------------------------------------- offsets

    def bounds(self, partition: TopicPartition, timeout_s: float) -> tuple[int, int]:
        """Return the offset of a partition's first record, and its end as the isolation level sees it.

        Raises:
            KafkaGroupsError: The broker did not answer in time, or refused.
        """
        self._serve()
        return bounds_of(self._consumer, partition, timeout_s)

    def offsets_for_times(self, times: Mapping[TopicPartition, int], timeout_s: float) -> dict[TopicPartition, int]:
        """Return the first offset at or after a time (ms since the epoch); partitions without one are left out.

        Raises:
            KafkaGroupsError: A broker did not answer in time, or refused.
        """
        self._serve()
        return offsets_at(self._consumer, times, timeout_s)

    def partition_counts(self, timeout_s: float) -> dict[str, int]:
        """Return the number of partitions of all topics that there are.

        Raises:
            KafkaGroupsError: No broker answered in time, or it refused.
        """
        self._serve()
        try:
            topics = self._consumer.list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise failure_of(error_in(error), "the topics are not known") from error
        return {name: len(each.partitions) for name, each in topics.items() if each.partitions}

    def _serve(self) -> None:
        """Let librdkafka log, which it does while it is polled. A poller that only asks may have no partitions."""
        if not self._assigned:
            self._consumer.poll(0)


def _place(message: Message) -> tuple[str, int]:
    return cast("str", message.topic()), cast("int", message.partition())


def _positions(partitions: Iterable[TopicPartition]) -> list[Position]:
    return [Position(each.topic, each.partition) for each in partitions]
