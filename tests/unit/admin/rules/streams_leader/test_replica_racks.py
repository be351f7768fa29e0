"""Racks of replicas, looked up at the first use."""

from kafka_groups.admin.rules.streams_leader.replica_racks import ReplicaRacks
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.types import TopicPartition

TOPIC = TopicReplicas({0: (1, 2), 1: (3,), 2: (4,)}, {1: "a", 2: "b", 3: None})


def test_racks_are_those_of_running_brokers() -> None:
    found = ReplicaRacks({"t": TOPIC})
    racks = [found(TopicPartition("t", number)) for number in range(4)]
    assert racks == [frozenset("ab"), frozenset(), frozenset(), None]
    assert [TOPIC.are_running(number) for number in range(4)] == [True, True, False, True]
    assert found(TopicPartition("other", 0)) is None


def test_partitions_are_noted_when_they_are_used() -> None:
    found = ReplicaRacks({"t": TOPIC})
    assert found.used == {}
    assert found(TopicPartition("t", 0)) is found(TopicPartition("t", 0))
    assert found.used == {TopicPartition("t", 0): frozenset("ab")}
