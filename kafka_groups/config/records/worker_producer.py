"""The keys of a worker that configure its producer, with which it writes outputs, retries and dead letters."""

from collections.abc import Mapping
from typing import Final

from attrs import evolve, frozen

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.config.keys import Key
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.settings import KeyTable, read_keys, setting
from kafka_groups.errors import ConfigurationError

__all__ = ["WorkerProducerKeys", "worker_producer_config"]

_PRODUCER: Final = KeyTable(ProducerConfig)


def _like(attribute: str, doc: str) -> Key:
    key = _PRODUCER.key(attribute)
    return evolve(key, name=f"producer.{key.name}", aliases=(), doc=doc)


@frozen(kw_only=True)
class WorkerProducerKeys:
    """The keys of a worker's producer. What it does not have is decided: see `records/confirmed_writer.py`."""

    producer_batch_size: int = setting(
        _like("batch_size", "The size of a batch of records that a worker writes, in bytes before compression.")
    )
    producer_compression_type: str = setting(
        _like("compression_type", "How a worker compresses the records that it writes.")
    )


_KEYS: Final = KeyTable(WorkerProducerKeys)


def worker_producer_config(given: Mapping[str, object], consumers: ShareConsumerConfig) -> ProducerConfig:
    """Return the configuration of a worker's producer, in which no record waits for others.

    Args:
        given: The keys of the producer.
        consumers: The configuration of the consumers. Timeouts are the same.

    Raises:
        ConfigurationError: A key is not one of a worker's producer, or its value is invalid.
    """
    values = read_keys(_KEYS, given.items(), "the producer of a worker", ConfigurationError)
    chosen = {name.removeprefix("producer_"): value for name, value in values.items()}
    return ProducerConfig(
        linger_ms=0,
        request_timeout_ms=consumers.request_timeout_ms,
        metadata_max_age_ms=consumers.metadata_max_age_ms,
        **chosen,
    )
