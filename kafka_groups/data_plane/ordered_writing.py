"""Writes the records and changelogs of tasks in order, and keeps their errors until the next flush."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import cast

from confluent_kafka import KafkaError, KafkaException, Message

from kafka_groups.data_plane.configuration import producer_config
from kafka_groups.data_plane.deliveries import EARLIEST_MS, new_producer
from kafka_groups.data_plane.failures import error_in, failure_of
from kafka_groups.errors import DeliveryFailedError, KafkaGroupsError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.types import Header, Headers, TopicPartition

__all__ = ["OrderedWriter"]

_ANY_PARTITION = -1
_LONGEST_BLOCK_MS, _SLICE_MS = 1_000, 100
"""The time for which a write waits for room, and the longest time for which it does not look whether there is some."""

_DEFAULTS = {"partitioner": "murmur2_random", "message.timeout.ms": 0}
"""Java's partitioner, and no end of attempts: the writer's user decides how long it waits."""

_DeliveryReport = Callable[[KafkaError | None, Message], None]


_QueuedRecord = tuple[str, bytes | None, bytes | None, int, _DeliveryReport, int, list[Header] | None]
"""The arguments of a producer for one record. A plain tuple, because there is one for each record."""


class OrderedWriter:
    """An idempotent producer for one thread, whose records are not timed out.

    librdkafka's queue has limits (`queue.buffering.max.messages`, `queue.buffering.max.kbytes`). When it is full, a
    write waits for a second at most. If the brokers take nothing in that time, this record and the ones after it wait
    in a queue without limit, so that the caller can do something else. Write nothing then until `has_room` is true.

    Args:
        config: Keys as for `DurableProducer`.
        clock: Tells the time.

    Attributes:
        written: For each partition of `write_tracked`, the offset after the last record that the brokers have
            confirmed.
    """

    def __init__(self, config: Mapping[str, object], clock: Clock | None = None) -> None:
        settings = producer_config({**_DEFAULTS, **config})
        self.written: dict[TopicPartition, int] = {}
        self._servers = settings["bootstrap.servers"]
        self._producer = new_producer(settings)
        self._clock = clock or SystemClock()
        self._waiting: deque[_QueuedRecord] = deque()
        self._topics: set[str] = set()
        self._failures: list[KafkaGroupsError] = []

    def __repr__(self) -> str:
        return f"<OrderedWriter to {self._servers}: {len(self._producer) + len(self._waiting)} queued>"

    @property
    def has_room(self) -> bool:
        """True if no record waits for the producer's queue. Tries to hand over those that do."""
        return not self._waiting or self.wait_for_room(0)

    def wait_for_room(self, timeout_s: float) -> bool:
        """Hand waiting records to the producer's queue. Return False if the time is up before it has taken all."""
        end_ms = self._clock.now_ms() + round(timeout_s * 1_000)
        self._producer.poll(0)
        while self._waiting:
            if self._is_first_done():
                continue
            left_ms = end_ms - self._clock.now_ms()
            if left_ms <= 0:
                return False
            self._producer.poll(min(left_ms, _SLICE_MS) / 1_000)
        return True

    def write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        """Queue a record. Blocks for a second at most. `flush` tells whether it was written.

        The time 0 becomes 1 ms, because librdkafka cannot write it.

        Raises:
            KafkaGroupsError: The producer refuses the record, for example because it is too large.
        """
        place = _ANY_PARTITION if partition is None else partition
        self._queue(topic, value, key, place, timestamp_ms, headers, self._delivered)

    def write_tracked(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int,
    ) -> None:
        """Queue a record as `write` does, and note its offset in `written` when it has been confirmed."""
        self._queue(topic, value, key, partition, timestamp_ms, headers, self._tracked)

    def flush(self, timeout_s: float) -> None:
        """Wait until the brokers have confirmed all records.

        Raises:
            DeliveryFailedError: Records were refused, or are not confirmed in time. Those without answer stay queued,
                and another flush waits for them again.
        """
        end_ms = self._clock.now_ms() + round(timeout_s * 1_000)
        self.wait_for_room(timeout_s)
        waiting = self._producer.flush(max(end_ms - self._clock.now_ms(), 0) / 1_000) + len(self._waiting)
        failures, self._failures = self._failures, []
        if failures:
            text = f"{len(failures)} records were not written; the first: {failures[0]}"
            raise DeliveryFailedError(text, failed=len(failures), unanswered=waiting) from failures[0]
        if waiting:
            raise DeliveryFailedError(self._unconfirmed(waiting, timeout_s), failed=0, unanswered=waiting)
        self._topics.clear()

    def close(self) -> None:
        """Drop what is queued."""
        self._waiting.clear()
        self._producer.purge()
        self._producer.flush(0)

    def _unconfirmed(self, count: int, timeout_s: float) -> str:
        topics = ", ".join(sorted(self._topics))
        return f"{count} records are not confirmed by {self._servers} after {timeout_s:g} s; written to: {topics}"

    def _queue(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp_ms: int,
        headers: Headers,
        report: _DeliveryReport,
    ) -> None:
        self._topics.add(topic)
        listed = list(headers) if headers else None
        record = (topic, value, key, partition, report, timestamp_ms or EARLIEST_MS, listed)
        if self._waiting:
            self._waiting.append(record)
            self.wait_for_room(0)
        elif not self._taken(record):
            self._waiting.append(record)
            self.wait_for_room(_LONGEST_BLOCK_MS / 1_000)

    def _is_first_done(self) -> bool:
        """Hand over the first record that waits. Return False if there is no room; an error is kept for the flush."""
        try:
            if not self._taken(self._waiting[0]):
                return False
        except KafkaGroupsError as error:
            self._failures.append(error)
        self._waiting.popleft()
        return True

    def _taken(self, record: _QueuedRecord) -> bool:
        """Hand a record to the producer. Return False if its queue is full."""
        topic, value, key, partition, report, timestamp_ms, headers = record
        try:
            self._producer.produce(
                topic, value, key, partition, on_delivery=report, timestamp=timestamp_ms, headers=headers
            )
        except BufferError:
            return False
        except KafkaException as error:
            raise failure_of(error_in(error), f"A record for {topic} cannot be written") from error
        return True

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            place = f"{message.topic()}-{message.partition()}"
            self._failures.append(failure_of(error, f"A record for {place} was not written"))

    def _tracked(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._delivered(error, message)
            return
        place = TopicPartition(cast("str", message.topic()), cast("int", message.partition()))
        self.written[place] = cast("int", message.offset()) + 1
