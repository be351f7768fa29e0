"""The groups' configurations: defaults, overrides, and no computation that is not needed."""

import random

from kafka_groups.broker.configs.effective import ALL_BROKERS
from kafka_groups.broker.configs.group_configs import GroupConfigs
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.config.cluster.broker import broker_settings
from kafka_groups.config.cluster.groups import share_group_config
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE


def test_overrides_take_effect_at_once() -> None:
    metadata = ClusterMetadata(random.Random(1))
    of_group = GroupConfigs(
        broker_settings({"group.share.record.lock.duration.ms": 20_000}), metadata, share_group_config
    )
    assert of_group("g").record_lock_duration_ms == 20_000
    metadata.alter_configs(GROUP_RESOURCE, "g", {"share.record.lock.duration.ms": "25000"})
    assert of_group("g").record_lock_duration_ms == 25_000
    assert of_group("other").record_lock_duration_ms == 20_000
    metadata.alter_configs(GROUP_RESOURCE, "g", {"share.record.lock.duration.ms": None})
    assert of_group("g").record_lock_duration_ms == 20_000


def test_defaults_that_are_set_for_all_brokers_take_effect_at_once() -> None:
    metadata = ClusterMetadata(random.Random(1))
    of_group = GroupConfigs(broker_settings(), metadata, share_group_config)
    assert of_group("g").assignment_interval_ms == 1_000
    for_all = {"group.share.assignment.interval.ms": "50", "message.max.bytes": "1"}
    metadata.alter_configs(BROKER_RESOURCE, ALL_BROKERS, for_all)
    assert of_group("g").assignment_interval_ms == 50
    metadata.alter_configs(GROUP_RESOURCE, "g", {"share.assignment.interval.ms": "60"})
    assert of_group("g").assignment_interval_ms == 60
    assert of_group("other").assignment_interval_ms == 50


def test_configuration_is_computed_once() -> None:
    metadata = ClusterMetadata(random.Random(1))
    of_group = GroupConfigs(broker_settings(), metadata, share_group_config)
    before = of_group("g")
    metadata.alter_configs(TOPIC_RESOURCE, "t", {})
    assert of_group("g") is before
    metadata.alter_configs(TOPIC_RESOURCE, "t", {"retention.ms": "1"})
    assert of_group("g") is not before
