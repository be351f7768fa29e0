"""The cluster's metadata: brokers, topics, leaders, configs and what the listeners hear."""

import random

import pytest

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.events import LeaderMoved, MetadataEvent, PartitionCreated, PartitionDeleted
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


def cluster_of(brokers: int) -> ClusterMetadata:
    metadata = ClusterMetadata(random.Random(1))
    for node_id in range(brokers):
        metadata.register_broker(BrokerEndpoint(node_id, "127.0.0.1", 9092 + node_id))
    return metadata


def events_of(metadata: ClusterMetadata) -> list[MetadataEvent]:
    events: list[MetadataEvent] = []
    metadata.on_change(events.append)
    return events


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
    events = events_of(metadata)
    after = metadata.create_partitions("t", 4)
    assert after.partitions[:2] == before.partitions
    assert [p.partition for p in after.partitions] == [0, 1, 2, 3]
    assert [e.partition.partition for e in events if isinstance(e, PartitionCreated)] == [2, 3]
    for count in (4, 3):
        with pytest.raises(InvalidPartitionsError):
            metadata.create_partitions("t", count)


def test_topic_created_again_has_another_id() -> None:
    metadata = cluster_of(1)
    old = metadata.create_topic("t", 1, 1, {"retention.ms": "1"})
    events = events_of(metadata)
    assert metadata.delete_topic("t") == old
    assert [type(event) for event in events] == [PartitionDeleted]
    assert metadata.topic_by_id(old.topic_id) is None
    assert metadata.configs.config_value(TOPIC_RESOURCE, "t", "retention.ms") is None
    assert metadata.create_topic("t").topic_id != old.topic_id
    with pytest.raises(UnknownTopicOrPartitionError):
        metadata.delete_topic("u")


def test_moved_leader_has_the_next_epoch_and_is_told() -> None:
    metadata = cluster_of(3)
    topic = metadata.create_topic("t", 2, 1)
    events = events_of(metadata)
    moved = metadata.move_leader(TopicPartition("t", 1), 2)
    assert (moved.leader_id, moved.leader_epoch, moved.replicas) == (2, 1, (2,))
    assert metadata.topic("t").partitions == (topic.partitions[0], moved)  # type: ignore[union-attr]
    assert metadata.partition(topic.topic_id, 1) == moved
    assert events == [LeaderMoved(topic.topic_id_partition(1), 1, 2, 1)]
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
    events: list[MetadataEvent] = []
    stop = metadata.on_change(events.append)
    stop()
    metadata.create_topic("t")
    assert events == []


def test_configs_are_kept_by_resource() -> None:
    configs = cluster_of(1).configs
    configs.alter(GROUP_RESOURCE, "g", {"a": "1", "b": "2"})
    configs.alter(TOPIC_RESOURCE, "g", {"a": "3"})
    assert configs.config_value(GROUP_RESOURCE, "g", "a") == "1"
    configs.alter(GROUP_RESOURCE, "g", {"a": None, "missing": None})
    assert dict(configs.overrides(GROUP_RESOURCE, "g")) == {"b": "2"}
    assert configs.names(GROUP_RESOURCE) == ("g",)
    configs.alter(GROUP_RESOURCE, "g", {"b": None})
    assert configs.names(GROUP_RESOURCE) == ()
    assert configs.config_value(TOPIC_RESOURCE, "g", "a") == "3"


def test_same_seed_makes_the_same_ids() -> None:
    first, second = cluster_of(1), cluster_of(1)
    assert first.cluster_id == second.cluster_id
    assert len(first.cluster_id) == 22
    assert first.create_topic("t").topic_id == second.create_topic("t").topic_id
