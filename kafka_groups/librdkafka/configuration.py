"""Translate the configuration of a share consumer into those of librdkafka's clients for the same cluster."""

from collections.abc import Container, Mapping
from typing import Final

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.config.security.security import from_java
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import ConfigurationError
from kafka_groups.librdkafka.security import SECURITY_ATTRIBUTES, librdkafka_sasl

__all__ = ["client_config", "producer_config", "reader_config"]

_CONSUMER_KEYS = KeyTable(ShareConsumerConfig)

_SHARED: Final[Mapping[str, str]] = {
    "bootstrap.servers": "bootstrap.servers",
    "client.id": "client.id",
    "client.rack": "client.rack",
    "metadata.max.age.ms": "metadata.max.age.ms",
    "reconnect.backoff.max.ms": "reconnect.backoff.max.ms",
    "reconnect.backoff.ms": "reconnect.backoff.ms",
    "request.timeout.ms": "socket.timeout.ms",
    "retry.backoff.max.ms": "retry.backoff.max.ms",
    "retry.backoff.ms": "retry.backoff.ms",
    "security.protocol": "security.protocol",
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
    "ssl.ca.location": "ssl.ca.location",
    "ssl.ca.pem": "ssl.ca.pem",
    "ssl.certificate.location": "ssl.certificate.location",
    "ssl.certificate.pem": "ssl.certificate.pem",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "ssl.key.location": "ssl.key.location",
    "ssl.key.password": "ssl.key.password",
    "ssl.key.pem": "ssl.key.pem",
}
"""The keys of a share consumer that all clients have, with librdkafka's names."""

_DEFAULTS: Final[Mapping[str, object]] = {"log_level": 3}
"""Errors alone. librdkafka's warnings are about keys that a kind of client does not use, or precede its errors."""

_DURABLE: Final[Mapping[str, object]] = {"acks": "all", "enable.idempotence": True}
"""Settings that keep each confirmed record once and in order; users cannot change them."""

_ALIASES: Final[Mapping[str, str]] = {"request.required.acks": "acks"}

_NEEDED: Final[Mapping[str, Container[str]]] = {"acks": ("all", "-1"), "enable.idempotence": ("true",)}
"""The values that users may set for them."""

_NO_GROUP: Final[Mapping[str, object]] = {
    "allow.auto.create.topics": False,
    "auto.offset.reset": "error",  # records that are gone must not be skipped silently
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
}
"""Settings of a consumer that is assigned its partitions and neither joins a group nor commits."""


def client_config(config: Mapping[str, object]) -> dict[str, object]:
    """Return the librdkafka configuration that every client of the same cluster as a share consumer has.

    Args:
        config: Keys of a share consumer, in any of its spellings, and keys of librdkafka by their dotted names. Keys
            that only a share consumer has (`group.id`, `max.poll.records` …) are left out.

    Raises:
        ConfigurationError: A value is invalid, or there are no bootstrap servers.
    """
    translated: dict[str, object] = {}
    security: dict[str, object] = {}
    for spelling, value in from_java(config.items()):
        attribute = _CONSUMER_KEYS.attribute(spelling)
        if attribute is None:
            translated[spelling] = value
        elif attribute in SECURITY_ATTRIBUTES:
            security[attribute] = _CONSUMER_KEYS.key(attribute).parse(value, named=spelling)
        elif (name := _SHARED.get(_CONSUMER_KEYS.key(attribute).name)) and value is not None:
            translated[name] = _fitting(attribute, spelling, value)
    if "bootstrap.servers" not in translated:
        raise ConfigurationError("bootstrap_servers (bootstrap.servers) is missing")
    protocol = translated.get("security.protocol", "PLAINTEXT")
    sasl = librdkafka_sasl(_CONSUMER_KEYS, {**security, "security_protocol": protocol})
    return {**_DEFAULTS, **translated, **sasl}


def producer_config(config: Mapping[str, object]) -> dict[str, object]:
    """Return the librdkafka configuration of a producer that is idempotent and waits for all in-sync replicas.

    Args:
        config: Keys as for `client_config`; those of librdkafka's producer are kept (`compression.type` …).

    Raises:
        ConfigurationError: A value is invalid, there are no bootstrap servers, or acknowledgement by all replicas or
            idempotence would be turned off.
    """
    given = {_ALIASES.get(name, name): value for name, value in client_config(config).items()}
    for name, allowed in _NEEDED.items():
        if name in given and str(given[name]).lower() not in allowed:
            raise ConfigurationError(f"{name} is {given[name]!r}, but what is written must be kept; remove it")
    return {"linger.ms": 5, **given, **_DURABLE}


def reader_config(config: Mapping[str, object], group_id: str) -> dict[str, object]:
    """Return the librdkafka configuration of a consumer that is assigned its partitions and reads committed records.

    Args:
        config: Keys as for `client_config`; keys of librdkafka's consumer are kept (`isolation.level` …).
        group_id: The name under which librdkafka looks for a coordinator. Nothing joins or changes the group.

    Raises:
        ConfigurationError: A value is invalid, or there are no bootstrap servers.
    """
    return {"isolation.level": "read_committed", **client_config(config), **_NO_GROUP, "group.id": group_id}


def _fitting(attribute: str, spelling: str, value: object) -> object:
    parsed = _CONSUMER_KEYS.key(attribute).parse(value, named=spelling)
    if attribute == "bootstrap_servers" and isinstance(parsed, tuple):
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in parsed)
    return parsed
