"""What a release has, and how settings of a later one are refused."""

import re

import attrs
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.profile import DEFAULT_PROFILE, PROFILES, Profile, profile_named
from kafka_groups.config.cluster.broker import BrokerSettings, broker_keys
from kafka_groups.config.cluster.groups import group_keys
from kafka_groups.errors import InvalidConfigError
from kafka_groups.protocol.apis import ApiKey, VersionRange
from kafka_groups.testing import FAST_SETTINGS

KAFKA_4_2 = PROFILES["4.2"]
every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=str)


def test_the_newest_release_is_the_default() -> None:
    assert list(PROFILES) == ["4.2", "4.3", "4.4"]
    assert DEFAULT_PROFILE is profile_named("4.4")


def test_an_unknown_profile_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(ValueError, match=re.escape("Unknown profile '4.1'. Known profiles: 4.2, 4.3, 4.4.")):
        EmbeddedCluster(profile="4.1")


@every_profile
def test_what_a_release_lacks_is_a_key_of_a_later_one(profile: Profile) -> None:
    assert profile.missing_broker_keys.keys() <= broker_keys().keys()
    assert profile.missing_group_keys <= group_keys().keys()


@every_profile
def test_served_versions_are_advertised(profile: Profile) -> None:
    for key in profile.versions:
        served, advertised = profile.served(key), profile.advertised(key)
        assert served is not None
        assert advertised is not None
        assert advertised.low <= served.low
        assert served.high == advertised.high


def test_versions_that_differ_between_releases() -> None:
    assert KAFKA_4_2.served(ApiKey.DELETE_GROUPS) == VersionRange(0, 2)
    assert DEFAULT_PROFILE.served(ApiKey.DELETE_GROUPS) == VersionRange(0, 3)
    assert DEFAULT_PROFILE.advertised(ApiKey.PRODUCE) == VersionRange(0, 13)
    assert DEFAULT_PROFILE.served(ApiKey.PRODUCE) == VersionRange(3, 13)
    without = attrs.evolve(KAFKA_4_2, versions={})
    assert without.advertised(ApiKey.PRODUCE) is without.served(ApiKey.PRODUCE) is None


def test_features_have_the_levels_of_their_release() -> None:
    assert DEFAULT_PROFILE.finalized_features()["share.version"] == 2
    assert DEFAULT_PROFILE.supported_features()["share.version"] == VersionRange(0, 2)
    assert KAFKA_4_2.finalized_features()["share.version"] == 1
    assert DEFAULT_PROFILE.finalized_features()["metadata.version"] == 33
    assert KAFKA_4_2.finalized_features()["metadata.version"] == 29


def test_a_release_acts_as_it_did_before_a_setting_came() -> None:
    for settings in (KAFKA_4_2.settings(), KAFKA_4_2.settings(BrokerSettings()), KAFKA_4_2.settings(FAST_SETTINGS)):
        assert settings.share_assignment_interval_ms == 0
        assert settings.share_max_partition_max_record_locks == 10_000
    assert DEFAULT_PROFILE.settings().share_assignment_interval_ms == 1_000


def test_bounds_that_a_release_lacks_do_not_bind() -> None:
    given = {"group.share.partition.max.record.locks": "10000"}

    assert KAFKA_4_2.settings(given).share_partition_max_record_locks == 10_000
    with pytest.raises(InvalidConfigError, match=r"above 4000, the group\.share\.max\.partition\.max\.record\.locks"):
        DEFAULT_PROFILE.settings(given)


@pytest.mark.parametrize(
    "given",
    [{"group.share.max.delivery.count.limit": "20"}, BrokerSettings(share_max_delivery_count_limit=20)],
    ids=type,
)
def test_a_setting_of_a_later_release_is_refused(given: BrokerSettings | dict[str, object]) -> None:
    expected = "Kafka 4.2 does not have the broker setting 'group.share.max.delivery.count.limit'. Remove it."

    with pytest.raises(InvalidConfigError, match=re.escape(expected)):
        EmbeddedCluster(profile="4.2", settings=given)
    assert DEFAULT_PROFILE.settings(given).share_max_delivery_count_limit == 20


async def test_a_group_configuration_of_a_later_release_is_refused() -> None:
    expected = "Kafka 4.2 does not have the group configuration 'share.delivery.count.limit'. Later releases do."

    async with EmbeddedCluster(profile="4.2") as cluster:
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        with pytest.raises(InvalidConfigError, match=re.escape(expected)):
            cluster.alter_group_configs("g", {"share.delivery.count.limit": "3"})
    async with EmbeddedCluster(profile="4.3") as cluster:
        cluster.alter_group_configs("g", {"share.delivery.count.limit": "3"})


def test_releases_before_4_4_have_no_dead_letter_queues() -> None:
    topic, group = "errors.deadletterqueue.group.enable", "errors.deadletterqueue.topic.name"
    DEFAULT_PROFILE.check_topic_keys([topic])
    DEFAULT_PROFILE.check_group_keys([group])
    with pytest.raises(InvalidConfigError, match=r"Kafka 4\.2 does not have the topic configuration 'errors\.dead"):
        KAFKA_4_2.check_topic_keys(["retention.ms", topic])
    with pytest.raises(InvalidConfigError, match=r"Kafka 4\.2 does not have the group configuration 'errors\.dead"):
        KAFKA_4_2.check_group_keys([group])
    with pytest.raises(InvalidConfigError, match=r"errors\.deadletterqueue\.topic\.name\.prefix"):
        KAFKA_4_2.settings({"errors.deadletterqueue.topic.name.prefix": ""})
