"""The configurations of the readers and the producer of a streams application, from its keys with a prefix."""

from typing import Any, Final

from attrs import fields

from kafka_groups.config.clients.prefixed import ISOLATION_LEVEL
from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.config.records.prefixed_keys import PrefixedKeys, check_agreement, log_aliases, read_prefixed
from kafka_groups.config.records.record_connection import RecordConnectionConfig
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import READ_COMMITTED, ReaderConfig, default_fetch_wait_ms
from kafka_groups.errors import ConfigurationError

__all__ = ["log_aliases_of", "producer_of", "restorer_of", "sources_of"]

_SHARED: Final = tuple(each.name for each in fields(RecordConnectionConfig))
_PREFIXES: Final = ("producer", "consumer", "main.consumer", "restore.consumer", "global.consumer")


def log_aliases_of(config: StreamsConfig) -> None:
    """Log a line at INFO for each key of a client that has another name in Java. Call it once."""
    for prefix in _PREFIXES:
        log_aliases(_keys(config, prefix))


def producer_of(config: StreamsConfig) -> ProducerConfig:
    """Return the configuration of an application's producer.

    What `producer.` does not say is as for the application, such as `request.timeout.ms`.

    Raises:
        ConfigurationError: A key behind `producer.` is not one of a producer, its value is invalid, or keys contradict
            each other. The message names all such keys.
    """
    given = read_prefixed([_keys(config, "producer")])
    return ProducerConfig(**{**_shared(config), **given, "prefix": "producer."})


def sources_of(config: StreamsConfig) -> ReaderConfig:
    """Return the configuration of the reader of an application's sources.

    Keys behind `main.consumer.` come before those behind `consumer.`, and these before the application's.

    Raises:
        ConfigurationError: A key behind a prefix is not one of a consumer, or its value is invalid. The message names
            all such keys.
    """
    given = read_prefixed([_keys(config, "consumer"), _keys(config, "main.consumer")])
    return _reader(config, given, config.isolation_level)


def restorer_of(config: StreamsConfig) -> ReaderConfig:
    """Return the configuration of the reader of an application's changelogs and global topics.

    Keys behind `restore.consumer.` and `global.consumer.` come before those behind `consumer.`, and these before the
    application's.

    Raises:
        ConfigurationError: A key behind a prefix is not one of this reader, its value is invalid, or one key has two
            values behind the two prefixes. The message names all such keys.
    """
    restoring, of_globals = _keys(config, "restore.consumer"), _keys(config, "global.consumer")
    _check_isolation(restoring)
    _check_isolation(of_globals)
    given = read_prefixed([_keys(config, "consumer"), restoring, of_globals])
    check_agreement(restoring, of_globals, "one reader has the changelogs and the global topics")
    return _reader(config, given, READ_COMMITTED)


def _reader(config: StreamsConfig, given: dict[str, Any], isolation_level: str) -> ReaderConfig:
    values = {**_shared(config), "client_rack": config.client_rack, **given, "isolation_level": isolation_level}
    return ReaderConfig(**{"fetch_max_wait_ms": default_fetch_wait_ms(values["request_timeout_ms"]), **values})


def _keys(config: StreamsConfig, prefix: str) -> PrefixedKeys:
    return PrefixedKeys(prefix, getattr(config, prefix.replace(".", "_")))


def _shared(config: StreamsConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in _SHARED}


def _check_isolation(keys: PrefixedKeys) -> None:
    if any(name == ISOLATION_LEVEL for name, _ in keys.given):
        raise ConfigurationError(
            f"{keys.prefix}.{ISOLATION_LEVEL} can't be set, as only committed records are restored. Set "
            "consumer.isolation.level for the sources, or remove it."
        )
