"""What brokers tell of a share group beside records, embedded and real."""

from collections.abc import Iterator

import pytest
from attrs import evolve
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import answer
from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.errors import error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from kafka_groups.share.group import lag_of
from kafka_groups.share.workers.group_queries import asked
from kafka_groups.share.workers.group_settings import GroupSettings, group_settings, notes_on
from kafka_groups.spark.groups.group_remaining import group_remaining, group_unread
from kafka_groups.spark.rules.remaining import Remaining
from kafka_groups.types import TopicPartition
from tests.support.kafka.real_kafka import unique
from tests.support.targets import EMBEDDED_PROPERTIES


@pytest.fixture(params=["embedded", pytest.param("real_kafka", marks=pytest.mark.real_kafka)])
def bootstrap_servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real_kafka":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
    else:
        with EmbeddedCluster(settings=dict(EMBEDDED_PROPERTIES)) as cluster:
            yield cluster.bootstrap_servers


def alter(bootstrap_servers: str, group_id: str, **configs: str) -> None:
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    (altered,) = admin.incremental_alter_configs([resource]).values()
    altered.result(60)


def produce(bootstrap_servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    for _ in range(count):
        producer.produce(topic, b"v")
    assert producer.flush(60) == 0


def test_the_settings_of_a_group_and_its_lag(bootstrap_servers: str) -> None:
    name = unique("asked")
    config = share_consumer_config(bootstrap_servers=bootstrap_servers, group_id=name)
    before = group_settings(config)
    assert (before.delivery_limit, before.auto_offset_reset) == (5, "latest")
    assert len(notes_on(before, name, None)) >= 1
    alter(bootstrap_servers, name, share_delivery_count_limit="7", share_auto_offset_reset="earliest")
    after = group_settings(config)
    assert (after.delivery_limit, after.auto_offset_reset) == (7, "earliest")
    assert notes_on(after, name, "dlq") == []
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)
    produce(bootstrap_servers, name, 10)
    with KafkaShareConsumer(evolve(config, acknowledgement_mode="explicit")) as consumer:
        consumer.subscribe([name])
        records = consumer.poll(30)
        assert len(records) == 10
        # The brokers do not store where a group starts before it says something.
        assert asked(config, lambda ask: lag_of(ask, name)) == {TopicPartition(name, 0): None}
        assert group_remaining(config, [name], {}) == Remaining(10, 10)
        assert consumer.acknowledge_range(name, 0, 0, 3) == 4
        consumer.commit_sync()
        assert group_remaining(config, [name], {}) == Remaining(6, 6)
        consumer.acknowledge_all(records)
        consumer.commit_sync()
        assert group_remaining(config, [name], {}) == Remaining(0, 0)


def test_nobody_answers() -> None:
    config = share_consumer_config(bootstrap_servers="127.0.0.1:1", group_id="g")
    assert group_settings(config) == GroupSettings()
    remaining = group_remaining(config, ["t"], {})
    assert (remaining.least, remaining.most, remaining.is_known) == (0, None, False)
    assert "the brokers did not answer" in str(remaining.doubt)
    assert group_unread(config, ["t"]) == {}
    assert notes_on(GroupSettings(), "g", "dlq") == []
    assert "has no dead-letter topic" in notes_on(GroupSettings(), "g", None)[0]


def test_a_user_who_may_not_describe_the_group_does_not_know_what_is_left() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 1)
        config = share_consumer_config(bootstrap_servers=cluster.bootstrap_servers, group_id="g")
        group = DescribeShareGroupOffsetsResponseGroup(group_id="g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        refused = DescribeShareGroupOffsetsResponse(groups=(group,))
        cluster.faults.on(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, answer(refused))
        assert group_remaining(config, ["t"], {}) == Remaining(0, 0), "there is nothing in the topic"
        produce(cluster.bootstrap_servers, "t", 10)
        remaining = group_remaining(config, ["t"], {})
        assert (remaining.least, remaining.most, remaining.patience_ms) == (0, 10, 0)
        assert "Allow its user to DESCRIBE the group" in str(remaining.doubt)


def test_a_user_who_may_not_read_the_configuration_does_not_know_where_the_group_begins() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 1)
        produce(cluster.bootstrap_servers, "t", 10)
        config = share_consumer_config(bootstrap_servers=cluster.bootstrap_servers, group_id="g")
        described = DescribeConfigsResult(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED,
            error_message="not yours",
            resource_type=32,
            resource_name="g",
        )
        cluster.faults.on(ApiKey.DESCRIBE_CONFIGS, answer(DescribeConfigsResponse(results=(described,))))
        remaining = group_remaining(config, ["t"], {})
        assert (remaining.least, remaining.most) == (0, 10)
        assert remaining.patience_ms > 0
        assert "DESCRIBE_CONFIGS" in str(remaining.doubt)


def test_a_coordinator_that_is_not_there_yet_is_looked_up_again() -> None:
    with EmbeddedCluster(brokers=2) as cluster:
        config = share_consumer_config(bootstrap_servers=cluster.bootstrap_servers, group_id="g")
        refusal = error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, "still loading")
        rule = cluster.faults.on(ApiKey.FIND_COORDINATOR, answer(refusal), times=2)
        assert asked(config, lambda ask: lag_of(ask, "g")) == {}
        assert rule.is_spent
