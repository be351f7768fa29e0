"""Configs in responses: the effective value, its source, and the values it overrides (its synonyms)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, frozen

from kafka_groups.broker.configs.effective import ALL_BROKERS, DYNAMIC_BROKER_KEYS, BrokerConfigs, cluster_defaults
from kafka_groups.config.cluster.broker import (
    OWN_BROKER_KEYS,
    BrokerSettings,
    ConsumerGroupConfig,
    ShareGroupConfig,
    StreamsGroupConfig,
    broker_keys,
)
from kafka_groups.config.cluster.client_metrics import ClientMetricsConfig
from kafka_groups.config.cluster.dynamic_broker_keys import DYNAMIC_KEYS, TOPIC_KEY_OF
from kafka_groups.config.cluster.topic import TopicConfig, topic_keys
from kafka_groups.config.keys import Key, KeyType
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
_BROKER_NAME_OF_TOPIC_KEY: Mapping[str, str] = {topic: broker for broker, topic in TOPIC_KEY_OF.items()}
_IN_OTHER_UNITS: Final = frozenset({"flush.ms", "retention.ms", "segment.jitter.ms", "segment.ms"})
"""Keys of topics whose defaults are a broker's keys in other units, which are no synonyms."""
_TOPIC_KEYS: Final = topic_keys()
_NODE_IDS: Final = ("broker.id", "node.id")
_WITHOUT_EFFECT: Final = "The embedded broker keeps the value and ignores it."


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
    entries = [
        ConfigEntry(key, tuple(_broker_values(configs, key.name)), key.name not in DYNAMIC_BROKER_KEYS)
        for _, key in _BROKER_KEYS
        if configs.profile.has_broker_key(key.name) and key.name not in OWN_BROKER_KEYS
    ]
    entries += (_node_entry(name, configs.node_id) for name in _NODE_IDS)
    entries += (_topic_default(configs, name) for name in TOPIC_KEY_OF if _BROKER_KEYS.attribute(name) is None)
    listed = {entry.name for entry in entries}
    # What is kept without an effect, or without being known, is shown as soon as it is set.
    entries += (
        _kept_entry(name, tuple(_dynamic_values(configs, name))) for name in configs.overrides().keys() - listed
    )
    return entries


def _node_entry(name: str, node_id: int) -> ConfigEntry:
    key = Key(name=name, type=KeyType.INT, default=None, doc="The id of the broker.")
    return ConfigEntry(key, (ConfigValue(name, str(node_id), STATIC_BROKER_CONFIG),), is_read_only=True)


def _topic_default(configs: BrokerConfigs, name: str) -> ConfigEntry:
    topic_key = _TOPIC_KEYS[TOPIC_KEY_OF[name]]
    key = evolve(topic_key, name=name)
    default = None if topic_key.name in _IN_OTHER_UNITS else key.format(key.default)
    values = (*_dynamic_values(configs, name), ConfigValue(name, default, DEFAULT_CONFIG))
    return ConfigEntry(key, values, is_read_only=False)


def _kept_entry(name: str, values: tuple[ConfigValue, ...]) -> ConfigEntry:
    known = DYNAMIC_KEYS.get(name)
    if known is not None:
        key = Key(name=name, type=known.type, default=None, doc=_WITHOUT_EFFECT)
        return ConfigEntry(key, values, is_read_only=False)
    # Kafka shows a name that it does not know without a value, as it may be a secret of a plug-in.
    key = Key(name=name, type=KeyType.UNKNOWN, default=None, doc=_WITHOUT_EFFECT)
    return ConfigEntry(key, tuple(evolve(each, value=None) for each in values), is_read_only=True)


def default_broker_entries(configs: BrokerConfigs) -> list[ConfigEntry]:
    """Return the dynamic configs that were set for all brokers."""
    # The empty broker name shows only what was set for all brokers. What each has by itself may differ
    # (ConfigHelper.describeConfigs in Kafka).
    return [_set_for_all(name, value) for name, value in cluster_defaults(configs.dynamic).items()]


def _set_for_all(name: str, value: str) -> ConfigEntry:
    values = (ConfigValue(name, value, DYNAMIC_DEFAULT_BROKER_CONFIG),)
    if _BROKER_KEYS.attribute(name) is not None:
        return ConfigEntry(broker_keys()[name], values, is_read_only=False)
    if name in TOPIC_KEY_OF:
        return ConfigEntry(evolve(_TOPIC_KEYS[TOPIC_KEY_OF[name]], name=name), values, is_read_only=False)
    return _kept_entry(name, values)


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
        named = None if key.name in _IN_OTHER_UNITS else broker_name(key.name)
        default = ConfigValue(named, key.format(key.default), DEFAULT_CONFIG)
        is_complete = bool(behind) and behind[-1].source == DEFAULT_CONFIG
        entries.append(ConfigEntry(key, (*own, *behind, *(() if is_complete else (default,))), is_read_only=False))
    return entries


def _broker_values(configs: BrokerConfigs, name: str | None) -> Iterator[ConfigValue]:
    attribute = _BROKER_KEYS.attribute(name) if name is not None else None
    if name is None:
        return
    if attribute is None:
        yield from _dynamic_values(configs, name)
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
        values = (
            cluster_defaults(configs.dynamic)
            if resource == ALL_BROKERS
            else configs.dynamic.overrides(BROKER_RESOURCE, resource)
        )
        if name in values:
            yield ConfigValue(name, values[name], source)
