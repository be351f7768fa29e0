"""Write records durably, from any process.

A `DurableProducer` is a light value that you can create anywhere and send to the process that writes. That process
creates the librdkafka producer behind it on first use, once for each configuration. Its connections and its thread
outlive a task, as Spark's Python workers do.
"""

import os
import threading
from collections.abc import Mapping, Sequence

from confluent_kafka import Producer

from kafka_groups.librdkafka.configuration import producer_config
from kafka_groups.librdkafka.deliveries import Deliveries, OutgoingRecord, new_producer
from kafka_groups.types import Header

__all__ = ["DurableProducer"]


class DurableProducer:
    """Writes records durably: idempotent, and acknowledged by all in-sync replicas.

    It can be pickled and inherited by a forked process. Each process has its own connections, which all producers with
    the same configuration in that process share. Use one producer per thread, because `flush` reports on all records
    that were produced since the last one.

    Args:
        config: Keys of a share consumer that mean the same to a producer (`bootstrap.servers`, `security.protocol`,
            `ssl.*`, `sasl.*` …), in any of its spellings, so that a consumer's configuration can be given as it is; and
            keys of librdkafka's producer (`compression.type`, `linger.ms`, `delivery.timeout.ms` …).

    Raises:
        ConfigurationError: A value is invalid, or would make writing less durable.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        self._config = producer_config(config)
        self._settings = tuple(sorted((name, repr(value)) for name, value in self._config.items()))
        self._deliveries = Deliveries()

    def __repr__(self) -> str:
        return f"<DurableProducer to {self._config['bootstrap.servers']}>"

    def __reduce__(self) -> tuple[type["DurableProducer"], tuple[dict[str, object]]]:
        return DurableProducer, (self._config,)

    def produce(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Queue a record; `flush` reports whether it was written.

        Blocks while the producer's queue is full. A record that cannot even be queued is reported by `flush` too.

        Args:
            topic: Name of the topic.
            key: The key; None is a null key.
            value: The value; None is a null value.
            headers: Keys and values, in order.
            partition: The partition; None lets the producer choose by key.
            timestamp_ms: Milliseconds since the epoch; None is now. 0 is written as 1, because librdkafka cannot write
                it.
        """
        self._deliveries.send(self._producer(), OutgoingRecord(topic, key, value, headers, partition, timestamp_ms))

    def flush(self, timeout_s: float) -> None:
        """Wait until every record since the last flush is written.

        Args:
            timeout_s: Longest wait, in seconds.

        Raises:
            DeliveryFailedError: Records were refused, or not confirmed in time; it names the first and how many. A
                record that was not confirmed may still have been written.
        """
        deliveries, self._deliveries = self._deliveries, Deliveries()
        if deliveries.outstanding:
            deliveries.flush(self._producer(), timeout_s)
        if deliveries.fatal:
            _forget(self._settings)
        deliveries.check(timeout_s)

    def _producer(self) -> Producer:
        return _producers.get((os.getpid(), self._settings)) or _make(self._settings, self._config)


# ------------------------------------------------------------------------ one producer per process and configuration

_Settings = tuple[tuple[str, str], ...]

# With the process id: after a fork the parent's producers are there without their threads, and are left alone.
_producers: dict[tuple[int, _Settings], Producer] = {}
_making = threading.Lock()


def _make(settings: _Settings, config: Mapping[str, object]) -> Producer:
    key = (os.getpid(), settings)
    with _making:
        if key not in _producers:
            _producers[key] = new_producer(config)
        return _producers[key]


def _forget(settings: _Settings) -> None:
    """Drop a producer after a fatal error, so that the next record gets a new one."""
    with _making:
        _producers.pop((os.getpid(), settings), None)


def _renew_lock() -> None:
    global _making  # noqa: PLW0603 - another thread of the parent may have held it at the fork
    _making = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
