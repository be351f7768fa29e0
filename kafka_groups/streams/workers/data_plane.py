"""The key that chooses the data plane of an application's workers, and the configuration of our own one."""

from collections.abc import MutableMapping
from typing import Final

from attrs import evolve

from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.config.records.application_keys import log_aliases_of, producer_of, reader_of
from kafka_groups.errors import ConfigurationError
from kafka_groups.records.engine_plane import EnginePlaneConfig

__all__ = ["DATA_PLANE", "DEFAULT_PLANE", "ENGINE", "engine_plane_config", "takes_engine"]

DATA_PLANE: Final = "internal.data.plane"
"""The key that chooses how records are read and written. It is not documented, and will go."""

ENGINE: Final = "engine"
_LIBRDKAFKA: Final = "librdkafka"
_PLANES: Final = (ENGINE, _LIBRDKAFKA)

DEFAULT_PLANE = _LIBRDKAFKA
"""The data plane of applications that do not choose one."""


def takes_engine(key: str, mapping: MutableMapping[str, object], default: str) -> bool:
    """Take the key of a plane out of an application's keys. Return whether it is our own engine.

    Raises:
        ConfigurationError: There is no such plane.
    """
    value = mapping.pop(key, default)
    if value not in _PLANES:
        raise ConfigurationError(f"{key}={value!r} is invalid; allowed values are {' and '.join(_PLANES)}.")
    return value == ENGINE


def engine_plane_config(config: StreamsConfig) -> EnginePlaneConfig:
    """Return the configuration of a plane on our own engine, without a transactional id.

    Raises:
        ConfigurationError: A key of the producer or of a consumer is unknown or invalid.
    """
    log_aliases_of(config)
    # One reader has the changelogs and the global topics. Keys of both purposes are its own.
    both = {**dict(config.restore_consumer), **dict(config.global_consumer)}
    return EnginePlaneConfig(
        connection=config,
        sources=reader_of(config, "main"),
        restorer=reader_of(evolve(config, restore_consumer=tuple(both.items())), "restore"),
        producer=producer_of(config),
        principal=f"User:{config.sasl_username}" if config.sasl_username else None,
    )
