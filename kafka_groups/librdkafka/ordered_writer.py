"""Writes the records and changelogs of tasks in order, and keeps their errors until the next flush."""

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import cast

from confluent_kafka import KafkaError, KafkaException, Message

from kafka_groups.errors import DeliveryFailedError, KafkaGroupsError, UnknownTopicOrPartitionError
from kafka_groups.errors.texts import counted
from kafka_groups.librdkafka.configuration import producer_config
from kafka_groups.librdkafka.deliveries import EARLIEST_MS, new_producer
from kafka_groups.librdkafka.failures import error_in, failure_of, fatal_error_in
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.records.interface import UnwrittenRecord
from kafka_groups.types import Headers, TopicPartition

__all__ = ["DeliveryReport", "OrderedWriter"]

_ANY_PARTITION = -1
_LONGEST_BLOCK_MS, _SLICE_MS = 1_000, 100
"""The time for which a write waits for room, and the longest time for which it does not look whether there is some."""

_DEFAULTS = {"partitioner": "murmur2_random", "message.timeout.ms": 0}
"""Java's partitioner, and no end of attempts: the writer's user decides how long it waits."""

_ASKED_AGAIN_MS, _ASKING_SECONDS = 1_000, 1.0
"""The time between two questions about a topic's partitions, and the longest wait for an answer."""

DeliveryReport = Callable[[KafkaError | None, Message], None]


_ProducerHeaders = list[tuple[str, str | bytes | None]] | None
_QueuedRecord = tuple[str, bytes | None, bytes | None, int, DeliveryReport, int, _ProducerHeaders]
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
        self._settings = producer_config({**_DEFAULTS, **config})
        self.written: dict[TopicPartition, int] = {}
        self._servers = self._settings["bootstrap.servers"]
        self._producer = new_producer(self._settings)
        self._clock = clock or SystemClock()
        self._waiting: deque[_QueuedRecord] = deque()
        self._topics: set[str] = set()
        self._failures: list[KafkaGroupsError] = []
        self._refused: list[UnwrittenRecord] = []
        self._asked_ms: dict[str, int] = {}
        self._arriving: set[str] = set()
        """Topics with partitions that the brokers have and the producer does not know yet."""

    def __repr__(self) -> str:
        return f"<OrderedWriter to {self._servers}: {len(self._producer) + len(self._waiting)} queued>"

    @property
    def has_room(self) -> bool:
        """True if no record waits for the producer's queue. Tries to hand over those that do."""
        return not self._waiting or self.wait_for_room(0)

    def wait_for_room(self, timeout_s: float) -> bool:
        """Hand waiting records to the producer's queue. Return False if the time is up before it has taken all."""
        end_ms = self._clock.now_ms() + round(timeout_s * 1_000)
        self._serve(partial(self._producer.poll, 0))
        while self._waiting:
            if self._is_first_done():
                continue
            left_ms = end_ms - self._clock.now_ms()
            if left_ms <= 0:
                return False
            self._serve(partial(self._producer.poll, min(left_ms, _SLICE_MS) / 1_000))
        return True

    def write(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        origin: object = None,
    ) -> None:
        """Queue a record. Blocks for a second at most. `flush` waits until it is written.

        The time 0 becomes 1 ms, because librdkafka cannot write it.

        Args:
            topic: Name of the topic.
            key: The key.
            value: The value.
            timestamp_ms: Milliseconds since the epoch.
            headers: Keys and values, in order.
            partition: The partition; None lets the producer choose by key.
            origin: Something that `refused` returns with the record, if the brokers do not take it. None: that is an
                error of `flush`.

        Raises:
            KafkaGroupsError: The producer refuses the record, for example because it is too large.
        """
        place = _ANY_PARTITION if partition is None else partition
        report = self._delivered if origin is None else partial(self._reported, headers, timestamp_ms, origin)
        self._queue(topic, value, key, place, timestamp_ms, headers, report)

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
        """Wait until the brokers have answered about all records.

        Raises:
            DeliveryFailedError: Records without origin were refused, or records are not confirmed in time. Those
                without answer stay queued, and another flush waits for them again.
        """
        end_ms = self._clock.now_ms() + round(timeout_s * 1_000)
        self.wait_for_room(timeout_s)
        left_s = max(end_ms - self._clock.now_ms(), 0) / 1_000
        waiting = self._serve(partial(self._producer.flush, left_s)) + len(self._waiting)
        failures, self._failures = self._failures, []
        if failures:
            final = [each for each in failures if not each.retriable]
            cause, may_pass = (final or failures)[0], not final
            text = f"Could not write {counted(len(failures), 'record')}; the first: {cause}"
            raise DeliveryFailedError(text, failed=len(failures), unanswered=waiting, retriable=may_pass) from cause
        if waiting:
            raise DeliveryFailedError(self._unconfirmed(waiting, timeout_s), failed=0, unanswered=waiting)
        self._topics.clear()

    def refused(self) -> list[UnwrittenRecord]:
        """Return records with an origin that were refused, each of them once. Ask after a flush."""
        refused, self._refused = self._refused, []
        return refused

    def renew(self) -> None:
        """Drop the producer and what it has queued."""
        self.close()
        self._replace_producer()
        self.written.clear()
        self._failures.clear()
        self._refused.clear()
        self._topics.clear()

    def close(self) -> None:
        """Drop what is queued."""
        self._waiting.clear()
        self._producer.purge()
        with suppress(KafkaGroupsError):  # the producer has failed before, and its last error was logged
            self._serve(partial(self._producer.flush, 0))

    @staticmethod
    def _serve(call: Callable[[], int]) -> int:
        """Let the producer report what was delivered. confluent-kafka raises its fatal errors here.

        Raises:
            KafkaGroupsError: The producer has failed for good.
        """
        try:
            return call()
        except (KafkaException, SystemError) as raised:
            raise failure_of(fatal_error_in(raised), "The producer cannot be used any more") from raised

    def _unconfirmed(self, count: int, timeout_s: float) -> str:
        topics = ", ".join(sorted(self._topics))
        return (
            f"{self._servers} have not confirmed {counted(count, 'record')} after {timeout_s:g} s; written to: {topics}"
        )

    def _queue(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp_ms: int,
        headers: Headers,
        report: DeliveryReport,
    ) -> None:
        self._topics.add(topic)
        listed: _ProducerHeaders = list(headers) if headers else None
        record = (topic, value, key, partition, report, timestamp_ms or EARLIEST_MS, listed)
        if self._waiting:
            self._waiting.append(record)
            self.wait_for_room(0)
        elif not self._taken(record):
            self._waiting.append(record)
            self.wait_for_room(_LONGEST_BLOCK_MS / 1_000)

    def _is_first_done(self) -> bool:
        """Hand over the first record that waits. Return False if there is no room; an error is kept for the flush."""
        record = self._waiting[0]
        try:
            if not self._taken(record):
                return False
        except KafkaGroupsError as error:
            self._keep(record, error)
        self._waiting.popleft()
        return True

    def _keep(self, record: _QueuedRecord, error: KafkaGroupsError) -> None:
        topic, value, key, partition, report, _timestamp_ms, _ = record
        if not isinstance(report, partial):
            self._failures.append(error)
            return
        headers, timestamp_ms, origin = report.args
        chosen = None if partition == _ANY_PARTITION else partition
        self._refused.append(UnwrittenRecord(topic, key, value, timestamp_ms, headers, chosen, error, origin))

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
            failure = self._refusal(error_in(error), topic)
            if failure is not None and self._may_take_later(failure, topic, partition):
                return False
            if failure is not None:
                raise failure from error
        return True

    def _may_take_later(self, failure: KafkaGroupsError, topic: str, partition: int) -> bool:
        """Return True if a refused record waits and is handed over again, as the producer refuses it for now only.

        The producer's metadata may be older than the partition or the topic. It is asked for at most once a second.
        """
        if not isinstance(failure, UnknownTopicOrPartitionError):
            return failure.retriable
        now_ms = self._clock.now_ms()
        if now_ms - self._asked_ms.get(topic, -_ASKED_AGAIN_MS) < _ASKED_AGAIN_MS:
            return topic in self._arriving
        self._asked_ms[topic] = now_ms
        self._arriving.discard(topic)
        try:
            known = self._producer.list_topics(timeout=_ASKING_SECONDS).topics.get(topic)
        except KafkaException:  # its repeat may succeed, and the flush limits the time
            self._arriving.add(topic)
            return True
        if known is not None and known.error is None and partition < len(known.partitions):
            self._arriving.add(topic)
        return topic in self._arriving

    def _refusal(self, error: KafkaError, topic: str) -> KafkaGroupsError | None:
        """Return the error of a record that the producer refuses; None if nobody needs to hear of it."""
        return failure_of(error, f"A record for {topic} cannot be written")

    def _replace_producer(self) -> None:
        self._producer = new_producer(self._settings)

    def _reported(
        self, headers: Headers, timestamp_ms: int, origin: object, error: KafkaError | None, message: Message
    ) -> None:
        if error is None:
            return
        topic, partition = cast("str", message.topic()), message.partition()
        failure = failure_of(error, f"A record for {topic} was not written")
        chosen = None if partition == _ANY_PARTITION else partition
        # The report of a record that was refused does not have its time.
        parts = (topic, message.key(), message.value(), timestamp_ms, headers, chosen)
        self._refused.append(UnwrittenRecord(*parts, failure, origin))

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
