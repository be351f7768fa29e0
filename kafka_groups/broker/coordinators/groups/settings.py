"""Settings of all types of groups, from the configuration of groups and brokers."""

from collections.abc import Callable

from attrs import frozen

from kafka_groups.broker.coordinators.groups.classic.settings import ClassicGroupSettings
from kafka_groups.broker.coordinators.groups.consumer.settings import ConsumerRules
from kafka_groups.broker.coordinators.groups.streams.settings import StreamsRules
from kafka_groups.broker.profile import Profile
from kafka_groups.config.cluster.broker import BrokerSettings, ConsumerGroupConfig, ShareGroupConfig, StreamsGroupConfig

__all__ = ["GroupConfigSources", "classic_settings", "consumer_rules", "streams_rules"]


@frozen
class GroupConfigSources:
    """Functions that return the effective configuration of a group, by type of group."""

    share: Callable[[str], ShareGroupConfig]
    consumer: Callable[[str], ConsumerGroupConfig]
    streams: Callable[[str], StreamsGroupConfig]


def consumer_rules(configs: GroupConfigSources, settings: BrokerSettings) -> ConsumerRules:
    """Return the settings of consumer groups."""
    return ConsumerRules(
        configs.consumer,
        settings.consumer_group_max_size,
        settings.consumer_assignors,
        settings.consumer_migration_policy,
        settings.classic_group_max_size,
    )


def streams_rules(
    configs: GroupConfigSources, settings: BrokerSettings, wall_ms: Callable[[], int], profile: Profile
) -> StreamsRules:
    """Return the settings of streams groups."""
    return StreamsRules(
        configs.streams,
        wall_ms,
        settings.streams_group_max_size,
        settings.streams_assignors,
        keeps_descriptions=settings.streams_topology_description_plugin is not None,
        is_4_4=profile.has_static_streams_members,
    )


def classic_settings(settings: BrokerSettings) -> ClassicGroupSettings:
    """Return the settings of classic groups."""
    return ClassicGroupSettings(
        initial_rebalance_delay_ms=settings.initial_rebalance_delay_ms,
        min_session_timeout_ms=settings.min_session_timeout_ms,
        max_session_timeout_ms=settings.max_session_timeout_ms,
        max_size=settings.classic_group_max_size,
    )
