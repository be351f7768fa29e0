"""Offsets of a streams group in the transactions of confluent-kafka's producer (KIP-447)."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Position

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.streams import GroupTopologyBuilder, StreamsGroupMember, TasksRevoked
from kafka_groups.testing import FAST_SETTINGS
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.kafka.real_kafka import unique


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow])])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """The bootstrap servers of each kind of broker."""
    if request.param == "kafka":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def producer_of(servers: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": unique("writer")})
    producer.init_transactions()
    return producer


def poll_until(member: StreamsGroupMember, tasks: int) -> None:
    while len(member.tasks.active) != tasks:
        for event in member.poll(20):
            if isinstance(event, TasksRevoked):
                member.confirm(event)


def send(producer: Producer, output: str, position: Position, metadata: bytes) -> None:
    producer.begin_transaction()
    producer.produce(output, b"counted")
    producer.send_offsets_to_transaction([position], metadata)
    producer.commit_transaction()


def test_offsets_are_part_of_a_transaction_and_a_member_that_left_is_refused(servers: str) -> None:
    source, output, application = unique("in"), unique("out"), unique("app")
    for topic in (source, output):
        warm = Producer({"bootstrap.servers": servers})
        warm.produce(topic, b"first")
        assert warm.flush(20) == 0
    topology = GroupTopologyBuilder().add_subtopology("0", sources=[source]).build()
    producer, first = producer_of(servers), TopicPartition(source, 0)
    with StreamsGroupMember(bootstrap_servers=servers, application_id=application, topology=topology) as member:
        member.join()
        poll_until(member, 1)
        send(producer, output, Position(source, 0, 1), member.group_metadata())
        assert member.committed([first]) == {first: OffsetAndMetadata(1)}
        stale = member.group_metadata()
        member.close()
    with pytest.raises(KafkaException) as raised:
        send(producer, output, Position(source, 0, 2), stale)
    error = raised.value.args[0]
    assert error.txn_requires_abort()
    assert error.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION, KafkaError.FENCED_MEMBER_EPOCH)
    producer.abort_transaction()
