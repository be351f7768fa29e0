"""Hand records to a librdkafka producer, and collect their results until the next flush."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, cast

from attrs import define, field
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_groups.errors import ConfigurationError, DeliveryFailedError, KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.librdkafka.client_log import process_log
from kafka_groups.librdkafka.failures import error_in, failure_of, fatal_error_in, is_fatal
from kafka_groups.types import Header, TopicPartition

__all__ = ["Deliveries", "OutgoingRecord", "new_producer"]

_EARLIEST_MS: Final = 1
"""The time of records of time 0, which librdkafka takes for the present."""

_ANY_PARTITION = -1
_NOW = 0
"""librdkafka's time of records without one."""
_QUEUE_FULL_POLL_SECONDS = 0.1


def new_producer(config: Mapping[str, object]) -> Producer:
    """Return a producer that logs as all clients of this package do.

    Args:
        config: librdkafka's configuration.

    Raises:
        ConfigurationError: librdkafka refuses the configuration.
    """
    try:
        return Producer({**config, "logger": process_log()})
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


@define
class Deliveries:
    """The results of the records between two flushes, which librdkafka may report on any thread.

    Attributes:
        on_written: Called with the place and the offset of each record that was written, on the thread that produces
            or flushes.
        outstanding: The number of records without a result.
        failed: The number of records that were not written.
        fatal: Whether the producer cannot be used any more.
        is_refused: Whether a record was refused for good: it would be again, by another producer, too.
    """

    on_written: Callable[[TopicPartition, int], None] | None = None
    outstanding: int = 0
    failed: int = 0
    fatal: bool = False
    is_refused: bool = False
    _first: str | None = None
    _cause: KafkaGroupsError | None = None
    _lock: threading.Lock = field(factory=threading.Lock)

    def send(self, producer: Producer, record: OutgoingRecord) -> None:
        """Queue a record. Blocks while the producer's queue is full. A record that cannot be queued has failed."""
        send = partial(
            producer.produce,
            record.topic,
            record.value,
            record.key,
            partition=_ANY_PARTITION if record.partition is None else record.partition,
            timestamp=_NOW if record.timestamp_ms is None else record.timestamp_ms or _EARLIEST_MS,
            headers=[*record.headers] or None,
            on_delivery=self._reported,
        )
        with self._lock:
            self.outstanding += 1
        error = self._enqueue(producer, send)
        if error is not None:
            self._ended(error, record.topic, record.partition)

    def flush(self, producer: Producer, timeout_s: float) -> None:
        """Wait until all records have a result, the time is up, or the producer has failed for good."""
        self._served(partial(producer.flush, timeout_s))

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
                f"No broker has confirmed {counted(self.failed + self.outstanding, 'record')}; the first: {first}",
                failed=self.failed,
                unanswered=self.outstanding,
                retriable=not self.is_refused,
            ) from self._cause

    def _enqueue(self, producer: Producer, send: Callable[[], None]) -> KafkaError | None:
        """Queue a record as soon as there is room. Return the error if it is refused."""
        while True:
            try:
                send()
            except BufferError:
                fatal = self._served(partial(producer.poll, _QUEUE_FULL_POLL_SECONDS))
                if fatal is not None:
                    return fatal
            except KafkaException as error:
                return error_in(error)
            else:
                self._served(partial(producer.poll, 0))
                return None

    def _served(self, call: Callable[[], object]) -> KafkaError | None:
        """Let the producer report what was delivered. Return and note its fatal error, which confluent-kafka raises."""
        try:
            call()
        except (KafkaException, SystemError) as raised:
            fatal = fatal_error_in(raised)
            with self._lock:
                self.fatal = True
                self._first = self._first or f"the producer cannot be used any more: {fatal.str()}"
            return fatal
        return None

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        topic, partition = message.topic() or "?", message.partition()
        self._ended(error, topic, partition)
        if error is None and self.on_written is not None:
            self.on_written(TopicPartition(topic, cast("int", partition)), cast("int", message.offset()))

    def _ended(self, error: KafkaError | None, topic: str, partition: int | None) -> None:
        with self._lock:
            self.outstanding -= 1
            if error is not None:
                place = topic if partition in {None, _ANY_PARTITION} else f"{topic}-{partition}"
                failure = failure_of(error, place)
                self.failed += 1
                self.fatal = self.fatal or is_fatal(error)
                self.is_refused = self.is_refused or not (failure.retriable or is_fatal(error))
                self._first = self._first or str(failure)
                self._cause = self._cause or failure
