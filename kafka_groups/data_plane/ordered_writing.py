"""Writes the records and changelogs of tasks in order, and keeps their errors until the next flush."""

from collections.abc import Mapping
from typing import cast

from confluent_kafka import KafkaError, KafkaException, Message

from kafka_groups.data_plane.configuration import producer_config
from kafka_groups.data_plane.deliveries import EARLIEST_MS, new_producer
from kafka_groups.data_plane.failures import failure_of
from kafka_groups.errors import DeliveryFailedError, KafkaGroupsError
from kafka_groups.types import Headers, TopicPartition

__all__ = ["OrderedWriter"]

_ANY_PARTITION = -1
_FULL_SECONDS = 0.1
_DEFAULTS = {"partitioner": "murmur2_random", "message.timeout.ms": 0}
"""Java's partitioner, and no end of attempts: the writer's user decides how long it waits."""


class OrderedWriter:
    """An idempotent producer for one thread, whose records are not timed out.

    Args:
        config: Keys as for `DurableProducer`.

    Attributes:
        written: For each partition of `write_tracked`, the offset after the last record that the brokers have
            confirmed.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        settings = producer_config({**_DEFAULTS, **config})
        self.written: dict[TopicPartition, int] = {}
        self._servers = settings["bootstrap.servers"]
        self._producer = new_producer(settings)
        self._failures: list[KafkaGroupsError] = []

    def __repr__(self) -> str:
        return f"<OrderedWriter to {self._servers}: {len(self._producer)} queued>"

    def write(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        """Queue a record. Blocks while the producer's queue is full. `flush` tells whether it was written.

        The time 0 becomes 1 ms, because librdkafka cannot write it.
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
        """Queue a record, and note its offset in `written` when it has been confirmed."""
        self._queue(topic, value, key, partition, timestamp_ms, headers, self._tracked)

    def flush(self, timeout_s: float) -> None:
        """Wait until the brokers have confirmed all records.

        Raises:
            DeliveryFailedError: Records were refused, or are not confirmed in time. Those without answer stay queued,
                and another flush waits for them again.
        """
        waiting = self._producer.flush(timeout_s)
        failures, self._failures = self._failures, []
        if failures:
            text = f"{len(failures)} records were not written; the first: {failures[0]}"
            raise DeliveryFailedError(text, failed=len(failures), unanswered=waiting) from failures[0]
        if waiting:
            text = f"{waiting} records are not confirmed after {timeout_s:g} s"
            raise DeliveryFailedError(text, failed=0, unanswered=waiting)

    def close(self) -> None:
        """Drop what is queued."""
        self._producer.purge()
        self._producer.flush(0)

    def _queue(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp_ms: int,
        headers: Headers,
        on_delivery: object,
    ) -> None:
        producer = self._producer
        while True:
            try:
                producer.produce(
                    topic,
                    value,
                    key,
                    partition,
                    on_delivery=on_delivery,  # type: ignore[arg-type]
                    timestamp=timestamp_ms or EARLIEST_MS,
                    headers=list(headers) if headers else None,
                )
            except BufferError:
                producer.poll(_FULL_SECONDS)
            except KafkaException as error:
                raise failure_of(error.args[0], f"A record for {topic} cannot be written") from error
            else:
                return

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
