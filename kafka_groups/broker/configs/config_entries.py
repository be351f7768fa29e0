"""Configs in responses: the effective value, its source, and the values it overrides (its synonyms)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from kafka_groups.broker.configs.effective import ALL_BROKERS, DYNAMIC_BROKER_KEYS, BrokerConfigs
from kafka_groups.config.cluster.broker import (
    OWN_BROKER_KEYS,
    BrokerSettings,
    ConsumerGroupConfig,
    ShareGroupConfig,
    StreamsGroupConfig,
)
from kafka_groups.config.cluster.client_metrics import ClientMetricsConfig
from kafka_groups.config.cluster.topic import TopicConfig
from kafka_groups.config.keys import Key
from kafka_groups.config.settings import KeyTable
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.config_resources import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)
from kafka_groups.protocol.messages.describe_configs import (
    CLIENT_METRICS_CONFIG,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    GROUP_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC_CONFIG,
)

__all__ = [
    "ConfigEntry",
    "ConfigValue",
    "broker_entries",
    "client_metrics_entries",
    "default_broker_entries",
    "group_entries",
    "topic_entries",
]

_BROKER_KEYS = KeyTable(BrokerSettings, dotted_only=True)
_BROKER_NAME_OF_TOPIC_KEY: Mapping[str, str] = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
"""Synonyms as in Kafka. Keys that are missing take the broker's value in other units, without a synonym."""


@frozen
class ConfigValue:
    """A value of a key at one level. `source` is Kafka's number for the level; without a `name` it is not a synonym."""

    name: str | None
    value: str | None
    source: int


@frozen
class ConfigEntry:
    """One config of a resource. `values` has the effective value first, then those it overrides, then the default."""

    key: Key
    values: tuple[ConfigValue, ...]
    is_read_only: bool

    @property
    def name(self) -> str:
        """The dotted name."""
        return self.key.name

    @property
    def value(self) -> str | None:
        """The effective value."""
        return self.values[0].value

    @property
    def source(self) -> int:
        """The source of the effective value."""
        return self.values[0].source


def topic_entries(configs: BrokerConfigs, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """Return the configs of a topic that were set, or are about to be."""
    entries = _resource_entries(configs, TopicConfig, overrides, TOPIC_CONFIG, _BROKER_NAME_OF_TOPIC_KEY.get)
    return [entry for entry in entries if configs.profile.has_topic_key(entry.name)]


def group_entries(configs: BrokerConfigs, group_id: str) -> list[ConfigEntry]:
    """Return the configs of a group."""
    overrides = configs.dynamic.overrides(GROUP_RESOURCE, group_id)
    known = [
        entry
        for config_class in (ConsumerGroupConfig, ShareGroupConfig, StreamsGroupConfig)
        for entry in _resource_entries(configs, config_class, overrides, GROUP_CONFIG, _broker_name_of_group_key)
        if configs.profile.has_group_key(entry.name)
    ]
    return known if configs.profile.describes_broker_defaults else [_without_broker(entry) for entry in known]


def client_metrics_entries(configs: BrokerConfigs, name: str) -> list[ConfigEntry]:
    """Return the configs of a subscription to client metrics, with their own defaults only."""
    overrides = configs.dynamic.overrides(CLIENT_METRICS_RESOURCE, name)
    return _resource_entries(configs, ClientMetricsConfig, overrides, CLIENT_METRICS_CONFIG, lambda _: None)


def broker_entries(configs: BrokerConfigs) -> list[ConfigEntry]:
    """Return the configs of the responding broker."""
    entries = (
        ConfigEntry(key, tuple(_broker_values(configs, key.name)), key.name not in DYNAMIC_BROKER_KEYS)
        for _, key in _BROKER_KEYS
        if configs.profile.has_broker_key(key.name) and key.name not in OWN_BROKER_KEYS
    )
    return list(entries)


def default_broker_entries(configs: BrokerConfigs) -> list[ConfigEntry]:
    """Return the dynamic configs that were set for all brokers."""
    overrides = configs.dynamic.overrides(BROKER_RESOURCE, ALL_BROKERS)
    # The empty broker name shows only what was set for all brokers. What each has by itself may differ
    # (ConfigHelper.describeConfigs in Kafka).
    return [
        ConfigEntry(
            key, (ConfigValue(key.name, overrides[key.name], DYNAMIC_DEFAULT_BROKER_CONFIG),), is_read_only=False
        )
        for _, key in _BROKER_KEYS
        if key.name in overrides
    ]


def _without_broker(entry: ConfigEntry) -> ConfigEntry:
    """Return the entry as releases write it that do not say which config of the broker a group falls back to."""
    # Kafka 4.2 has group configs without synonyms, and takes whatever was not set on the group for its default.
    own = ConfigValue(entry.name, entry.value, entry.source if entry.source == GROUP_CONFIG else DEFAULT_CONFIG)
    return evolve(entry, values=(own,))


def _shown(key: Key, value: str) -> str | None:
    """Return a value that was set as Kafka shows it: without spaces around it, `true` and `false` in lower case."""
    try:
        return key.format(key.parse(value))
    except KafkaGroupsError:  # `EmbeddedCluster.create_topic` does not check values
        return value


_ASSIGNOR, _ASSIGNORS = "streams.assignor.name", "group.streams.assignors"


def _broker_name_of_group_key(name: str) -> str:
    # The broker's key for the default of a group's key has the prefix `group.`. There is one exception: behind the name
    # of a group's assignor stands the broker's list of assignors.
    broker_name = _ASSIGNORS if name == _ASSIGNOR else f"group.{name}"
    return name if _BROKER_KEYS.attribute(broker_name) is None else broker_name


def _resource_entries(
    configs: BrokerConfigs,
    config_class: type[Any],
    overrides: Mapping[str, str],
    source: int,
    broker_name: Callable[[str], str | None],
) -> list[ConfigEntry]:
    entries: list[ConfigEntry] = []
    for _, key in KeyTable(config_class):
        own = [ConfigValue(key.name, _shown(key, overrides[key.name]), source)] if key.name in overrides else []
        behind = list(_broker_values(configs, broker_name(key.name)))
        default = ConfigValue(broker_name(key.name), key.format(key.default), DEFAULT_CONFIG)
        entries.append(ConfigEntry(key, (*own, *(behind or [default])), is_read_only=False))
    return entries


def _broker_values(configs: BrokerConfigs, name: str | None) -> Iterator[ConfigValue]:
    attribute = _BROKER_KEYS.attribute(name) if name is not None else None
    if name is None or attribute is None:
        return
    key = _BROKER_KEYS.key(attribute)
    yield from _dynamic_values(configs, name)
    static = getattr(configs.settings, attribute)
    # A value that equals the default counts as the default, since settings do not remember whether they were given.
    if static != key.default:
        yield ConfigValue(name, key.format(static), STATIC_BROKER_CONFIG)
    yield ConfigValue(name, key.format(key.default), DEFAULT_CONFIG)


def _dynamic_values(configs: BrokerConfigs, name: str) -> Iterable[ConfigValue]:
    # What was set for one broker overrides what was set for all (ConfigHelper.brokerSynonyms in Kafka).
    places = ((str(configs.node_id), DYNAMIC_BROKER_CONFIG), (ALL_BROKERS, DYNAMIC_DEFAULT_BROKER_CONFIG))
    for resource, source in places:
        value = configs.dynamic.config_value(BROKER_RESOURCE, resource, name)
        if value is not None:
            yield ConfigValue(name, value, source)
