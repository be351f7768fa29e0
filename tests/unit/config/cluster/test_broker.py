import attrs
import pytest

from kafka_groups.config.cluster.broker import (
    BrokerSettings,
    ShareGroupConfig,
    broker_keys,
    broker_settings,
    validate_broker_config,
)
from kafka_groups.config.cluster.groups import group_keys, share_group_config
from kafka_groups.errors import InvalidConfigError


def test_defaults_are_those_of_kafka() -> None:
    assert share_group_config(BrokerSettings(), {}) == ShareGroupConfig()
    settings = BrokerSettings()
    assert (settings.group_max_size, settings.max_share_sessions, settings.num_partitions) == (200, 2_000, 1)
    assert settings.message_max_bytes == 1_048_588
    assert settings.share_assignors == ("simple",)


@pytest.mark.parametrize(
    "given",
    [
        {"group.share.session.timeout.ms": 44_999},
        {"group.share.min.delivery.count.limit": 6},
        {"group.share.record.lock.duration.ms": 61_000},
        {"group.share.max.share.sessions": 199},
        {"group.share.max.size": 0},
        {"group.share.assignors": "uniform"},
        {"num.partitions": 0},
    ],
)
def test_bad_broker_setting_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidConfigError):
        broker_settings(given)


def test_broker_session_must_be_longer_than_its_heartbeat_interval() -> None:
    with pytest.raises(InvalidConfigError, match=r"share\.session\.timeout\.ms"):
        broker_settings({"group.share.min.session.timeout.ms": 1_000, "group.share.session.timeout.ms": 4_000})


def test_broker_settings_take_attribute_names_too() -> None:
    assert broker_settings({"num_partitions": "3"}) == BrokerSettings(num_partitions=3)


def test_unknown_broker_setting_suggests_the_nearest() -> None:
    with pytest.raises(
        InvalidConfigError, match=r"key 'num\.partition' \('3'\) for a broker\. Did you mean 'num\.partitions'"
    ):
        broker_settings({"num.partition": "3"})


def test_dynamic_broker_value_is_checked_beside_the_others() -> None:
    settings = BrokerSettings()
    validate_broker_config(settings, "group.share.max.size", "1000")
    for name, value in (
        ("group.share.max.size", "1001"),
        ("group.share.min.session.timeout.ms", "46000"),
        ("num_partitions", "1"),
    ):
        with pytest.raises(InvalidConfigError):
            validate_broker_config(settings, name, value)


def test_every_key_is_documented_and_its_default_fits() -> None:
    for keys, settings in ((broker_keys(), BrokerSettings()), (group_keys(), None)):
        if settings is not None:
            assert len(keys) == len(attrs.fields(type(settings)))
        for name, key in keys.items():
            assert key.name == name
            assert key.doc.endswith(".")
            assert key.parse(key.format(key.default)) == key.default
            assert (key.unit is not None) == name.endswith((".ms", ".bytes")), name
