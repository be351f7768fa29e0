"""The groups' configurations: defaults, overrides, and no computation that is not needed."""

from kafka_groups.broker.configs.dynamic import DynamicConfigs
from kafka_groups.broker.configs.effective import ALL_BROKERS
from kafka_groups.broker.configs.groups import GroupConfigs
from kafka_groups.config.broker import broker_settings
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, GROUP_RESOURCE


def test_overrides_take_effect_at_once() -> None:
    configs = DynamicConfigs()
    of_group = GroupConfigs(broker_settings({"group.share.record.lock.duration.ms": 20_000}), configs)
    assert of_group("g").record_lock_duration_ms == 20_000
    configs.alter(GROUP_RESOURCE, "g", {"share.record.lock.duration.ms": "25000"})
    assert of_group("g").record_lock_duration_ms == 25_000
    assert of_group("other").record_lock_duration_ms == 20_000
    configs.forget(GROUP_RESOURCE, "g")
    assert of_group("g").record_lock_duration_ms == 20_000


def test_defaults_that_are_set_for_all_brokers_take_effect_at_once() -> None:
    configs = DynamicConfigs()
    of_group = GroupConfigs(broker_settings(), configs)
    assert of_group("g").assignment_interval_ms == 1_000
    configs.alter(BROKER_RESOURCE, ALL_BROKERS, {"group.share.assignment.interval.ms": "50", "message.max.bytes": "1"})
    assert of_group("g").assignment_interval_ms == 50
    configs.alter(GROUP_RESOURCE, "g", {"share.assignment.interval.ms": "60"})
    assert of_group("g").assignment_interval_ms == 60
    assert of_group("other").assignment_interval_ms == 50


def test_configuration_is_computed_once() -> None:
    of_group = GroupConfigs(broker_settings(), DynamicConfigs())
    assert of_group("g") is of_group("g")
