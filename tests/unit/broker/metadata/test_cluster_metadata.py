"""The cluster's metadata: brokers, topics, leaders, configs and what the listeners hear."""

import random

import pytest

from kafka_groups.acls import AclOperation
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import BrokerChanged, GrownTopic, LeaderMoved, MetadataDelta
from kafka_groups.broker.metadata.topics import NO_LEADER, BrokerEndpoint
from kafka_groups.errors import (
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE, TOPIC_RESOURCE
from kafka_groups.types import TopicPartition
from tests.support.broker.acls import allow, deny


def cluster_of(brokers: int) -> ClusterMetadata:
    metadata = ClusterMetadata(random.Random(1))
    for node_id in range(brokers):
        metadata.register_broker(BrokerEndpoint(node_id, "127.0.0.1", 9092 + node_id))
    return metadata


def deltas_of(metadata: ClusterMetadata) -> list[MetadataDelta]:
    deltas: list[MetadataDelta] = []
    metadata.on_change(lambda _, delta: deltas.append(delta))
    return deltas


def test_leaders_go_round_the_brokers_within_and_between_topics() -> None:
    metadata = cluster_of(3)
    first = metadata.create_topic("first", 4, 1)
    second = metadata.create_topic("second", 2, 2)
    assert [p.leader_id for p in first.partitions] == [0, 1, 2, 0]
    assert [p.replicas for p in second.partitions] == [(1, 2), (2, 0)]


def test_topic_is_found_by_name_and_by_id() -> None:
    metadata = cluster_of(1)
    topic = metadata.create_topic("t", 2, 1)
    assert metadata.topic("t") is topic
    assert metadata.topic_by_id(topic.topic_id) is topic
    assert metadata.partition(topic.topic_id, 1) is topic.partitions[1]
    assert metadata.partition(topic.topic_id, 2) is None
    assert metadata.partition(topic.topic_id, -1) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250, "a/b", "a\n"])
def test_illegal_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidTopicError):
        cluster_of(1).create_topic(name)


@pytest.mark.parametrize("name", ["a", "...", "A-z_0.9", "x" * 249])
def test_legal_names_are_taken(name: str) -> None:
    assert cluster_of(1).create_topic(name).name == name


def test_names_that_differ_in_dots_and_underscores_alone_collide() -> None:
    metadata = cluster_of(1)
    metadata.create_topic("a.b_c")
    with pytest.raises(InvalidTopicError, match=r"a\.b_c"):
        metadata.create_topic("a_b_c")
    metadata.create_topic("a-b-c")


def test_creation_is_refused_for_a_known_name_and_bad_numbers() -> None:
    metadata = cluster_of(2)
    metadata.create_topic("t")
    with pytest.raises(TopicAlreadyExistsError):
        metadata.create_topic("t")
    with pytest.raises(InvalidPartitionsError):
        metadata.create_topic("u", 0)
    with pytest.raises(InvalidReplicationFactorError):
        metadata.create_topic("u", 1, 3)
    with pytest.raises(InvalidReplicationFactorError):
        metadata.create_topic("u", 1, 0)
    assert metadata.topic("u") is None


def test_partitions_are_added_at_the_end() -> None:
    metadata = cluster_of(2)
    before = metadata.create_topic("t", 2, 1)
    deltas = deltas_of(metadata)
    after = metadata.create_partitions("t", 4)
    assert after.partitions[:2] == before.partitions
    assert [p.partition for p in after.partitions] == [0, 1, 2, 3]
    assert [delta.grown for delta in deltas] == [(GrownTopic(after, 2),)]
    assert deltas[0].grown[0].added == after.partitions[2:]
    assert [each.partition for each in deltas[0].new_partitions()] == [2, 3]
    assert (deltas[0].leaders, deltas[0].created) == ((), ())
    for count in (4, 3):
        with pytest.raises(InvalidPartitionsError):
            metadata.create_partitions("t", count)


def test_topic_created_again_has_another_id() -> None:
    metadata = cluster_of(1)
    old = metadata.create_topic("t", 1, 1, {"retention.ms": "1"})
    deltas = deltas_of(metadata)
    assert metadata.delete_topic("t") == old
    assert [(delta.deleted, delta.configs) for delta in deltas] == [((old,), ((TOPIC_RESOURCE, "t"),))]
    assert list(deltas[0].lost_partitions()) == [old.topic_id_partition(0)]
    assert metadata.topic_by_id(old.topic_id) is None
    assert metadata.configs.config_value(TOPIC_RESOURCE, "t", "retention.ms") is None
    assert metadata.create_topic("t").topic_id != old.topic_id
    with pytest.raises(UnknownTopicOrPartitionError):
        metadata.delete_topic("u")


def test_moved_leader_has_the_next_epoch_and_is_told() -> None:
    metadata = cluster_of(3)
    topic = metadata.create_topic("t", 2, 1)
    deltas = deltas_of(metadata)
    moved = metadata.move_leader(TopicPartition("t", 1), 2)
    assert (moved.leader_id, moved.leader_epoch, moved.replicas) == (2, 1, (2,))
    assert metadata.topic("t").partitions == (topic.partitions[0], moved)  # type: ignore[union-attr]
    assert metadata.partition(topic.topic_id, 1) == moved
    assert [delta.leaders for delta in deltas] == [(LeaderMoved(topic.topic_id_partition(1), 1, 2, 1),)]
    assert list(deltas[0].lost_partitions()) == [topic.topic_id_partition(1)]
    with pytest.raises(UnknownTopicOrPartitionError):
        metadata.move_leader(TopicPartition("t", 2), 0)
    with pytest.raises(ValueError, match="Broker 9"):
        metadata.move_leader(TopicPartition("t", 0), 9)


def test_leader_among_the_replicas_leaves_them_as_they_are() -> None:
    metadata = cluster_of(3)
    metadata.create_topic("t", 1, 2)
    assert metadata.move_leader(TopicPartition("t", 0), 1).replicas == (0, 1)


def test_partitions_of_a_lost_broker_go_to_a_replica_or_wait_for_it() -> None:
    metadata = cluster_of(2)
    metadata.create_topic("alone", 1, 1)
    metadata.create_topic("safe", 2, 2)
    endpoint = metadata.brokers[0]
    metadata.unregister_broker(0)
    assert [p.leader_id for p in metadata.topic("alone").partitions] == [NO_LEADER]  # type: ignore[union-attr]
    assert [p.leader_id for p in metadata.topic("safe").partitions] == [1, 1]  # type: ignore[union-attr]
    assert metadata.controller_id == 1
    metadata.register_broker(endpoint)
    assert [p.leader_id for p in metadata.topic("alone").partitions] == [0]  # type: ignore[union-attr]
    assert metadata.topic("alone").partitions[0].leader_epoch == 2  # type: ignore[union-attr]


def test_groups_move_away_from_a_lost_broker_only() -> None:
    metadata = cluster_of(3)
    groups = [f"group-{i}" for i in range(60)]
    before = {group: metadata.coordinator_of(group) for group in groups}
    assert set(before.values()) == {0, 1, 2}
    metadata.unregister_broker(1)
    after = {group: metadata.coordinator_of(group) for group in groups}
    assert {group for group in groups if after[group] != before[group]} == {g for g in groups if before[g] == 1}
    assert 1 not in after.values()


def test_listener_that_was_taken_back_hears_nothing() -> None:
    metadata = cluster_of(1)
    deltas: list[MetadataDelta] = []
    stop = metadata.on_change(lambda _, delta: deltas.append(delta))
    stop()
    stop()
    metadata.create_topic("t")
    assert deltas == []


def test_configs_are_kept_by_resource() -> None:
    metadata = cluster_of(1)
    deltas = deltas_of(metadata)
    metadata.alter_configs(GROUP_RESOURCE, "g", {"a": "1", "b": "2"})
    metadata.alter_configs(TOPIC_RESOURCE, "g", {"a": "3"})
    assert metadata.configs.config_value(GROUP_RESOURCE, "g", "a") == "1"
    metadata.alter_configs(GROUP_RESOURCE, "g", {"a": None, "missing": None})
    assert dict(metadata.configs.overrides(GROUP_RESOURCE, "g")) == {"b": "2"}
    assert metadata.configs.names(GROUP_RESOURCE) == ("g",)
    metadata.alter_configs(GROUP_RESOURCE, "g", {"b": None})
    assert metadata.configs.names(GROUP_RESOURCE) == ()
    assert metadata.configs.config_value(TOPIC_RESOURCE, "g", "a") == "3"
    group, topic = (GROUP_RESOURCE, "g"), (TOPIC_RESOURCE, "g")
    assert [delta.configs for delta in deltas] == [(group,), (topic,), (group,), (group,)]


def test_a_change_that_changes_nothing_makes_no_image() -> None:
    metadata = cluster_of(1)
    before, deltas = metadata.image, deltas_of(metadata)
    metadata.alter_configs(GROUP_RESOURCE, "g", {"a": None})
    metadata.unregister_broker(7)
    metadata.register_broker(metadata.brokers[0])
    assert (metadata.image, deltas) == (before, [])


def test_a_broker_that_stops_and_comes_back_is_one_delta_each() -> None:
    metadata = cluster_of(2)
    safe, alone = metadata.create_topic("safe", 2, 2), metadata.create_topic("alone", 2, 1)
    endpoint, deltas = metadata.brokers[1], deltas_of(metadata)
    metadata.unregister_broker(1)
    metadata.register_broker(endpoint)
    assert [delta.brokers for delta in deltas] == [
        (BrokerChanged(1, endpoint, None),),
        (BrokerChanged(1, None, endpoint),),
    ]
    assert deltas[0].leaders == (
        LeaderMoved(safe.topic_id_partition(1), 1, 0, 1),
        LeaderMoved(alone.topic_id_partition(1), 1, NO_LEADER, 1),
    )
    assert deltas[1].leaders == (LeaderMoved(alone.topic_id_partition(1), NO_LEADER, 1, 2),)


def test_topics_are_listed_in_the_order_of_their_creation() -> None:
    metadata = cluster_of(2)
    for name in ("c", "a", "b"):
        metadata.create_topic(name)
    metadata.move_leader(TopicPartition("c", 0), 1)
    metadata.delete_topic("c")
    metadata.create_topic("c")
    assert [topic.name for topic in metadata.topics()] == ["a", "b", "c"]


def test_same_seed_makes_the_same_ids() -> None:
    first, second = cluster_of(1), cluster_of(1)
    assert first.cluster_id == second.cluster_id
    assert len(first.cluster_id) == 22
    assert first.create_topic("t").topic_id == second.create_topic("t").topic_id


def test_acls_change_with_the_image() -> None:
    metadata = cluster_of(1)
    before, deltas = metadata.image, deltas_of(metadata)
    metadata.change_acls([allow(AclOperation.READ), allow(AclOperation.READ)])
    metadata.change_acls([deny(AclOperation.READ)], [allow(AclOperation.READ)])
    assert list(metadata.acls) == [deny(AclOperation.READ)]
    assert list(before.acls) == []
    assert deltas == [MetadataDelta(version, has_other_acls=True) for version in (2, 3)]


def test_acls_that_are_there_or_gone_change_nothing() -> None:
    metadata = cluster_of(1)
    metadata.change_acls([allow(AclOperation.READ)])
    deltas = deltas_of(metadata)
    metadata.change_acls([allow(AclOperation.READ)], [deny(AclOperation.READ)])
    assert deltas == []
