"""Hand records to a librdkafka producer, and collect their results until the next flush."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, cast

from attrs import define, field, frozen
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_groups.errors import ConfigurationError, DeliveryFailedError
from kafka_groups.types import Header, TopicPartition

__all__ = ["EARLIEST_MS", "Deliveries", "OutgoingRecord", "new_producer"]

_log = logging.getLogger(__name__)

EARLIEST_MS: Final = 1
"""The time of records of time 0, which librdkafka takes for the present."""

_ANY_PARTITION = -1
_NOW = 0
"""librdkafka's time of records without one."""
_QUEUE_FULL_POLL_SECONDS = 0.1


def new_producer(config: Mapping[str, object]) -> Producer:
    """Return a producer that logs with this package's logger.

    Args:
        config: librdkafka's configuration.

    Raises:
        ConfigurationError: librdkafka refuses the configuration.
    """
    try:
        return Producer({**config, "logger": _log})
    except KafkaException as error:
        raise ConfigurationError(f"librdkafka refuses the producer's configuration: {error}") from error


class OutgoingRecord(NamedTuple):
    """A record to write. A tuple, because there is one for each record.

    Attributes:
        topic: Name of the topic.
        key: The key; None is a null key.
        value: The value; None is a null value.
        headers: Keys and values, in order.
        partition: The partition; None lets the producer choose by key.
        timestamp_ms: Milliseconds since the epoch; None is now. 0 is written as 1, because librdkafka cannot write it.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@frozen
class _DeliveryFailure:
    topic: str
    partition: int | None
    reason: str
    fatal: bool

    def __str__(self) -> str:
        place = self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        return f"{place}: {self.reason}"


@define
class Deliveries:
    """The results of the records between two flushes, which librdkafka may report on any thread.

    Attributes:
        on_written: Called with the place and the offset of each record that was written, on the thread that produces
            or flushes.
        outstanding: The number of records without a result.
        failed: The number of records that were not written.
        fatal: Whether the producer cannot be used any more.
    """

    on_written: Callable[[TopicPartition, int], None] | None = None
    outstanding: int = 0
    failed: int = 0
    fatal: bool = False
    _first: _DeliveryFailure | None = None
    _lock: threading.Lock = field(factory=threading.Lock)

    def send(self, producer: Producer, record: OutgoingRecord) -> None:
        """Queue a record. Blocks while the producer's queue is full. A record that cannot be queued has failed."""
        send = partial(
            producer.produce,
            record.topic,
            record.value,
            record.key,
            partition=_ANY_PARTITION if record.partition is None else record.partition,
            timestamp=_NOW if record.timestamp_ms is None else record.timestamp_ms or EARLIEST_MS,
            headers=[*record.headers] or None,
            on_delivery=self._reported,
        )
        with self._lock:
            self.outstanding += 1
        try:
            _enqueue(producer, send)
        except KafkaException as error:
            self._ended(_failure(error.args[0], record.topic, record.partition))

    def check(self, timeout_s: float) -> None:
        """Raise an error unless all records were written.

        Args:
            timeout_s: How long the flush waited, for the message.

        Raises:
            DeliveryFailedError: Records were refused, or have no result.
        """
        with self._lock:
            if not self.failed and not self.outstanding:
                return
            first = self._first or f"no answer within {timeout_s:g} s"
            raise DeliveryFailedError(
                f"{self.failed + self.outstanding} records are not known to be written; the first: {first}",
                failed=self.failed,
                unanswered=self.outstanding,
            )

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        topic, partition = message.topic() or "?", message.partition()
        self._ended(None if error is None else _failure(error, topic, partition))
        if error is None and self.on_written is not None:
            self.on_written(TopicPartition(topic, cast("int", partition)), cast("int", message.offset()))

    def _ended(self, failure: _DeliveryFailure | None) -> None:
        with self._lock:
            self.outstanding -= 1
            if failure is not None:
                self.failed += 1
                self.fatal = self.fatal or failure.fatal
                self._first = self._first or failure


def _enqueue(producer: Producer, send: Callable[[], None]) -> None:
    while True:
        try:
            send()
        except BufferError:
            producer.poll(_QUEUE_FULL_POLL_SECONDS)
        else:
            producer.poll(0)
            return


def _failure(error: KafkaError, topic: str, partition: int | None) -> _DeliveryFailure:
    return _DeliveryFailure(topic, None if partition == _ANY_PARTITION else partition, error.str(), error.fatal())
