"""confluent-kafka consumers that speak the protocol of KIP-848 against the embedded broker over TCP."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.integration.test_interop_confluent import PATIENCE_S, produce
from tests.support.members.confluent_reader import PARTITIONS, TOPIC, Reader, poll_until, share_all
from tests.support.members.consuming import values

SETTINGS = {
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": 3_000,
    "group.initial.rebalance.delay.ms": 100,
    "offsets.topic.num.partitions": 1,
}
ALL = frozenset(range(PARTITIONS))


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(2, settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        yield cluster


def reader(cluster: EmbeddedCluster, topic: str = TOPIC, **properties: Any) -> Reader:
    """A consumer whose partitions the coordinator assigns."""
    given: dict[str, Any] = {"session_timeout_ms": None, "heartbeat_interval_ms": None, **properties}
    return Reader(cluster.bootstrap_servers, topic, group_protocol="consumer", **given)


@pytest.mark.parametrize("assignor", ["uniform", "range", None])
def test_consumers_share_the_partitions_and_go_on_where_the_group_was(
    cluster: EmbeddedCluster, assignor: str | None
) -> None:
    for partition in range(PARTITIONS):
        produce(cluster.bootstrap_servers, values(10, f"p{partition}-"), partition)
    first = reader(cluster, group_remote_assignor=assignor)
    poll_until(lambda: len(first.values) == 40, first)
    first.consumer.commit(asynchronous=False)
    second = reader(cluster, group_remote_assignor=assignor)
    poll_until(lambda: share_all(first, second), first, second)
    first.close()
    poll_until(lambda: second.partitions == ALL, second)
    second.close()
    produce(cluster.bootstrap_servers, [b"new"], 1)
    third = reader(cluster, group_remote_assignor=assignor)
    poll_until(lambda: b"new" in third.values, third)
    third.close()
    assert (len(first.values), second.values, third.values) == (40, [], [b"new"])


def test_a_group_is_described_and_deleted(cluster: EmbeddedCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    only = reader(cluster)
    poll_until(lambda: only.partitions == ALL, only)
    group = admin.describe_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert (group.state.name, group.type.name, group.partition_assignor) == ("STABLE", "CONSUMER", "uniform")
    assert {each.partition for each in group.members[0].assignment.topic_partitions} == ALL
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    assert [(each.group_id, each.type.name) for each in listed.valid] == [("g", "CONSUMER")]
    only.close()
    admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert admin.list_consumer_groups().result(PATIENCE_S).valid == []


def test_a_static_member_that_is_restarted_moves_nothing(cluster: EmbeddedCluster) -> None:
    first, second = reader(cluster, group_instance_id="i"), reader(cluster, group_instance_id="j")
    poll_until(lambda: share_all(first, second), first, second)
    before, told = second.partitions, len(first.assignments)
    second.close()
    again = reader(cluster, group_instance_id="j")
    poll_until(lambda: again.partitions == before, first, again)
    assert share_all(first, again)
    assert len(first.assignments) == told
    first.close()
    again.close()


def test_a_dynamic_member_that_is_replaced(cluster: EmbeddedCluster) -> None:
    readers = [reader(cluster), reader(cluster)]
    poll_until(lambda: share_all(*readers), *readers)
    for number in range(2):
        readers[number].close()
        readers[number] = reader(cluster)
        poll_until(lambda: share_all(*readers), *readers)
    for each in readers:
        each.close()


def test_the_coordinator_moves_and_the_group_goes_on(cluster: EmbeddedCluster) -> None:
    only = reader(cluster)
    poll_until(lambda: only.partitions == ALL, only)
    produce(cluster.bootstrap_servers, [b"a"])
    poll_until(lambda: only.values == [b"a"], only)
    only.consumer.commit(asynchronous=False)
    told = len(only.assignments)
    leader = cluster.metadata.topic("__consumer_offsets").partitions[0].leader_id  # type: ignore[union-attr]
    cluster.move_leader("__consumer_offsets", 0, 3 - leader)
    produce(cluster.bootstrap_servers, [b"b"])
    poll_until(lambda: only.values == [b"a", b"b"], only)
    only.consumer.commit(asynchronous=False)
    assert len(only.assignments) == told
    [committed] = only.consumer.committed([TopicPartition(TOPIC, 0)])
    assert committed.offset == 2
    other = reader(cluster)
    poll_until(lambda: share_all(only, other), only, other)
    only.close()
    other.close()


def test_topics_by_a_regular_expression(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("other")
    only = reader(cluster, "^t.*")
    poll_until(lambda: only.partitions == ALL, only)
    assert {each.topic for each in only.consumer.assignment()} == {TOPIC}
    only.close()


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_members_change_the_protocol_one_by_one_and_back(cluster: EmbeddedCluster, strategy: str) -> None:
    def old() -> Reader:
        return Reader(cluster.bootstrap_servers, partition_assignment_strategy=strategy)

    def new() -> Reader:
        return reader(cluster)

    readers = [old(), old()]
    poll_until(lambda: share_all(*readers), *readers)
    for make in (new, old):
        for number in range(2):
            readers[number].close()
            readers[number] = make()
            poll_until(lambda: share_all(*readers), *readers)
            produce(cluster.bootstrap_servers, [b"value"], number)
            poll_until(lambda: any(each.values for each in readers), *readers)
            for each in [each for each in readers if each.values]:
                each.consumer.commit(asynchronous=False)
                each.values.clear()
    for each in readers:
        each.close()
