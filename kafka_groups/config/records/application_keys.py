"""The configurations of the readers and the producer of a streams application, from its keys with a prefix."""

from typing import Any, Final

from attrs import fields

from kafka_groups.config.clients.prefixed import ISOLATION_LEVEL
from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.config.records.prefixed_keys import PrefixedKeys, log_aliases, read_prefixed
from kafka_groups.config.records.record_connection import RecordConnectionConfig
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import READ_COMMITTED, ReaderConfig
from kafka_groups.errors import ConfigurationError

__all__ = ["log_aliases_of", "producer_of", "reader_of"]

_SHARED: Final = tuple(each.name for each in fields(RecordConnectionConfig))
_MAIN: Final = "main"
_PREFIXES: Final = ("producer", "consumer", "main.consumer", "restore.consumer", "global.consumer")


def log_aliases_of(config: StreamsConfig) -> None:
    """Log a line at INFO for each key of a client that has another name in Java. Call it once."""
    for prefix in _PREFIXES:
        log_aliases(_keys(config, prefix))


def producer_of(config: StreamsConfig) -> ProducerConfig:
    """Return the configuration of an application's producer.

    What `producer.` does not say is as for the application, such as `client.id`.

    Raises:
        ConfigurationError: A key behind `producer.` is not one of a producer, its value is invalid, or keys contradict
            each other. The message names all such keys.
    """
    given = read_prefixed([_keys(config, "producer")])
    return ProducerConfig(**{**_shared(config), **given})


def reader_of(config: StreamsConfig, purpose: str) -> ReaderConfig:
    """Return the configuration of one of an application's readers.

    Keys behind the prefix of the purpose come before those behind `consumer.`, and these before the application's.

    Args:
        config: The application's configuration.
        purpose: main for sources, restore for changelogs, or global for global topics.

    Raises:
        ConfigurationError: A key behind a prefix is not one of a consumer, its value is invalid, or keys contradict
            each other. The message names all such keys behind a prefix.
    """
    own = _keys(config, f"{purpose}.consumer")
    _check_isolation(own, purpose)
    given = read_prefixed([_keys(config, "consumer"), own])
    shared = {**_shared(config), "client_rack": config.client_rack}
    level = config.isolation_level if purpose == _MAIN else READ_COMMITTED
    return ReaderConfig(**{**shared, **given, "isolation_level": level})


def _keys(config: StreamsConfig, prefix: str) -> PrefixedKeys:
    return PrefixedKeys(prefix, getattr(config, prefix.replace(".", "_")))


def _shared(config: StreamsConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in _SHARED}


def _check_isolation(keys: PrefixedKeys, purpose: str) -> None:
    if purpose != _MAIN and any(name == ISOLATION_LEVEL for name, _ in keys.given):
        raise ConfigurationError(
            f"{keys.prefix}.{ISOLATION_LEVEL} can't be set, as only committed records are restored. Set "
            "consumer.isolation.level for the sources, or remove it."
        )
