"""Placement: the hash that Kafka's coordinators use, and who leads and coordinates what."""

import random
from uuid import UUID

import pytest

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import (
    GROUP_TOPIC,
    SHARE_STATE_TOPIC,
    coordinator_of,
    java_hash,
    leader_of,
    next_replicas,
    partition_of_key,
    share_state_key,
)
from kafka_groups.broker.metadata.topics import NO_LEADER, BrokerEndpoint
from tests.recording.coordinator_keys import load_keys, names, share_keys

INT_MIN = -(2**31)
KEYS = load_keys()


def cluster_of(brokers: int) -> ClusterMetadata:
    metadata = ClusterMetadata(random.Random(1))
    for node_id in range(1, brokers + 1):
        metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
    return metadata


def test_kafkas_answers_cover_what_they_should() -> None:
    own = [each.key for each in KEYS if each.share is None]
    assert own == names()
    assert [each.share for each in KEYS if each.share is not None] == share_keys()
    assert sum(1 for each in KEYS if each.hash_code == INT_MIN) >= 60
    assert sum(1 for key in own if any(ord(character) > 0xFFFF for character in key)) > 200


def test_hash_codes_are_javas() -> None:
    assert {each.key: java_hash(each.key) for each in KEYS} == {each.key: each.hash_code for each in KEYS}


def test_partitions_are_kafkas() -> None:
    placed = [(partition_of_key(each.key, 50), partition_of_key(each.key, 7)) for each in KEYS]
    assert placed == [(each.of_50, each.of_7) for each in KEYS]


def test_keys_of_share_partitions_are_kafkas() -> None:
    shares = [(each.share, each.key) for each in KEYS if each.share is not None]
    made = [share_state_key(share.group_id, UUID(share.topic_id), share.partition) for share, _ in shares]
    assert made == [key for _, key in shares]


@pytest.mark.parametrize("brokers", [1, 2, 3, 4, 60])
def test_keys_of_one_partition_have_one_coordinator(brokers: int) -> None:
    image = cluster_of(brokers).image
    coordinators: dict[int, set[int]] = {}
    for each in KEYS:
        coordinators.setdefault(each.of_50, set()).add(coordinator_of(image, each.key))
    assert all(len(found) == 1 for found in coordinators.values())
    assert set.union(*coordinators.values()) == set(range(1, min(brokers, 50) + 1))


@pytest.mark.parametrize("internal_topic", [GROUP_TOPIC, SHARE_STATE_TOPIC])
def test_the_leader_in_an_internal_topic_is_the_coordinator(internal_topic: str) -> None:
    metadata = cluster_of(3)
    topic = metadata.create_topic(internal_topic, 7, 2)
    for each in KEYS:
        found = coordinator_of(metadata.image, each.key, internal_topic)
        assert found == topic.partitions[each.of_7].leader_id
    metadata.unregister_broker(1)
    metadata.unregister_broker(2)
    lost = {each.of_7 for each in KEYS if coordinator_of(metadata.image, each.key, internal_topic) == NO_LEADER}
    assert lost == {index for index, partition in enumerate(topic.partitions) if 3 not in partition.replicas} != set()


def test_nobody_coordinates_without_a_broker() -> None:
    assert coordinator_of(ClusterMetadata(random.Random(1)).image, "g") == NO_LEADER


def test_leaders_rotate_and_go_on_where_they_stopped() -> None:
    assert next_replicas({3, 1, 2}, 0, 4, 2) == [(1, 2), (2, 3), (3, 1), (1, 2)]
    assert next_replicas({3, 1, 2}, 4, 2, 1) == [(2,), (3,)]


def test_leader_of_a_partition_that_does_not_exist() -> None:
    topic = cluster_of(1).create_topic("t", 2)
    assert leader_of(topic, 1) is topic.partitions[1]
    assert leader_of(topic, 2) is leader_of(topic, -1) is None
