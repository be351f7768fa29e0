"""The configuration of a subscription to the metrics of clients (KIP-714), under Kafka's names.

The embedded broker keeps subscriptions. Like a Kafka without a plug-in for telemetry, it asks no client for metrics.
"""

import re
from collections.abc import Mapping

from attrs import frozen

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.settings import KeyTable, read_keys, setting
from kafka_groups.errors import InvalidConfigError, InvalidRequestError

__all__ = ["ClientMetricsConfig", "client_metrics_config"]

_SHORTEST_MS, _LONGEST_MS = 100, 3_600_000
_MATCHED = frozenset({
    "client_id", "client_instance_id", "client_software_name", "client_software_version", "client_source_address",
    "client_source_port",
})  # fmt: skip


@frozen(kw_only=True)
class ClientMetricsConfig:
    """The effective configuration of a subscription. `client_metrics_config` builds it."""

    interval_ms: int = setting(
        Key(
            name="interval.ms",
            type=KeyType.INT,
            default=300_000,
            unit="ms",
            doc="How often clients push their metrics.",
            error=InvalidConfigError,
        )
    )
    match: tuple[str, ...] = setting(
        Key(
            name="match",
            type=KeyType.LIST,
            default=(),
            doc="Which clients are meant, such as `client_id=app-.*`: a regular expression for each property."
            " Several are separated by commas.",
            error=InvalidConfigError,
        )
    )
    metrics: tuple[str, ...] = setting(
        Key(
            name="metrics",
            type=KeyType.LIST,
            default=(),
            doc="Prefixes of the names of metrics.",
            error=InvalidConfigError,
        )
    )


_TABLE = KeyTable(ClientMetricsConfig, dotted_only=True)


def client_metrics_config(values: Mapping[str, str]) -> ClientMetricsConfig:
    """Return the configuration in effect for a subscription. The errors are Kafka's.

    Raises:
        InvalidRequestError: A key is unknown, or the interval is too short or too long.
        InvalidConfigError: A value does not fit.
    """
    for name in values:
        if _TABLE.attribute(name) is None:
            raise InvalidRequestError(f"Unknown client metrics configuration: {name}")
    config = ClientMetricsConfig(**read_keys(_TABLE, values.items(), "client metrics", InvalidConfigError))
    if not _SHORTEST_MS <= config.interval_ms <= _LONGEST_MS:
        bounds = f"interval must be between {_SHORTEST_MS} and {_LONGEST_MS} (1 hour)"
        raise InvalidRequestError(f"Invalid value {config.interval_ms} for interval.ms, {bounds}")
    for pattern in config.match:
        _check_pattern(pattern)
    return config


def _check_pattern(pattern: str) -> None:
    name, *expressions = (part.strip() for part in pattern.split("="))
    if name not in _MATCHED or len(expressions) != 1 or not _is_valid(expressions[0]):
        raise InvalidConfigError(f"Illegal client matching pattern: {pattern}")


def _is_valid(expression: str) -> bool:
    try:
        re.compile(expression)
    except re.error:
        return False
    return True
