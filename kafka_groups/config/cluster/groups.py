"""The configuration in effect for a group of each type: a broker's defaults, and what was set for the group.

Overrides are set with IncrementalAlterConfigs on a GROUP resource (KIP-1240) and must stay within the broker's bounds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.config.cluster.broker import BROKER_KEYS, BrokerSettings, check_standby_replicas, read_config
from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig
from kafka_groups.config.cluster.group_limits import LIMITED, check_limits
from kafka_groups.config.cluster.share_group import ShareGroupConfig
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.config.keys import Key
from kafka_groups.config.settings import KeyTable

__all__ = [
    "check_group_config",
    "consumer_group_config",
    "group_keys",
    "share_group_config",
    "streams_group_config",
    "validate_group_config",
]

_SHARE_GROUP = KeyTable(ShareGroupConfig, dotted_only=True)
_CONSUMER_GROUP = KeyTable(ConsumerGroupConfig, dotted_only=True)
_STREAMS_GROUP = KeyTable(StreamsGroupConfig, dotted_only=True)


def group_keys() -> dict[str, Key]:
    """Return the keys of groups of all types by dotted name (resource type GROUP)."""
    return {**_CONSUMER_GROUP.by_name(), **_SHARE_GROUP.by_name(), **_STREAMS_GROUP.by_name()}


def share_group_config(settings: BrokerSettings, overrides: Mapping[str, str]) -> ShareGroupConfig:
    """Return the configuration in effect for a share group: its overrides, with the broker's defaults.

    The overrides may contain keys of other types of groups, because one id has the configs of groups of all types.

    Raises:
        InvalidConfigError: A key is unknown, a value does not fit or is outside the broker's bounds.
    """
    others = (_CONSUMER_GROUP, _STREAMS_GROUP)
    own = {name: value for name, value in overrides.items() if all(each.attribute(name) is None for each in others)}
    values = _defaults("share", settings) | read_config(_SHARE_GROUP, own, "a group")
    config = ShareGroupConfig(**values)
    check_limits("share", settings, BROKER_KEYS, config, _SHARE_GROUP)
    return config


def consumer_group_config(settings: BrokerSettings, overrides: Mapping[str, str]) -> ConsumerGroupConfig:
    """Return the configuration in effect for a consumer group. Keys of other types of groups are ignored.

    Raises:
        InvalidConfigError: A value does not fit or is outside the broker's bounds.
    """
    own = {name: value for name, value in overrides.items() if _CONSUMER_GROUP.attribute(name) is not None}
    values = _defaults("consumer", settings) | read_config(_CONSUMER_GROUP, own, "a group")
    config = ConsumerGroupConfig(**values)
    check_limits("consumer", settings, BROKER_KEYS, config, _CONSUMER_GROUP)
    return config


def streams_group_config(settings: BrokerSettings, overrides: Mapping[str, str]) -> StreamsGroupConfig:
    """Return the configuration in effect for a streams group. Keys of other types of groups are ignored.

    Raises:
        InvalidConfigError: A value does not fit or is outside the broker's bounds.
    """
    own = {name: value for name, value in overrides.items() if _STREAMS_GROUP.attribute(name) is not None}
    defaults = {
        **_defaults("streams", settings),
        "num_standby_replicas": settings.streams_num_standby_replicas,
        "initial_rebalance_delay_ms": settings.streams_initial_rebalance_delay_ms,
        "assignor_name": settings.streams_assignors.default.name,
        "rack_aware_assignment_tags": settings.streams_rack_aware_assignment_tags,
    }
    config = StreamsGroupConfig(**defaults | read_config(_STREAMS_GROUP, own, "a group"))
    check_limits("streams", settings, BROKER_KEYS, config, _STREAMS_GROUP)
    check_standby_replicas(settings, _STREAMS_GROUP.key("num_standby_replicas"), config.num_standby_replicas)
    _check_assignor(settings.streams_assignors.names, config.assignor_name)
    return config


def check_group_config(settings: BrokerSettings, values: Mapping[str, str]) -> None:
    """Check the configs of a group.

    Raises:
        InvalidConfigError: A key is unknown, a value does not fit or is outside the broker's bounds.
    """
    share_group_config(settings, values)
    consumer_group_config(settings, values)
    streams_group_config(settings, values)


def validate_group_config(
    settings: BrokerSettings, name: str, value: str, overrides: Mapping[str, str] | None = None
) -> None:
    """Check one group-level value, together with the group's other overrides.

    Raises:
        InvalidConfigError: The key is unknown, the value does not fit, or it does not go with the others.
    """
    check_group_config(settings, {**(overrides or {}), name: value})


def _defaults(kind: str, settings: BrokerSettings) -> dict[str, Any]:
    return {name: getattr(settings, f"{kind}_{name}") for name in LIMITED[kind]}


def _check_assignor(offered: Sequence[str], name: str) -> None:
    if name not in offered:
        raise _STREAMS_GROUP.key("assignor_name").problem(
            name,
            "the brokers do not offer this task assignor",
            remedy=f"Use {' or '.join(offered)}, or register yours in the brokers' group.streams.assignors",
        )
