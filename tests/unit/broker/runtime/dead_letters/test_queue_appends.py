"""Appends of dead letters on the leader of the queue: here, or on another broker."""

import random

import pytest

from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import BrokerEndpoint, TopicMetadata
from kafka_groups.broker.runtime.dead_letters.queue_appends import QueueAppends
from kafka_groups.broker.runtime.led_shard import Done
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.errors import (
    BrokerError,
    CoordinatorNotAvailableError,
    MessageTooLargeError,
    NetworkExceptionError,
    NotLeaderOrFollowerError,
    UnknownServerError,
)
from kafka_groups.protocol.codec import encode_request
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import TopicPartition
from tests.support.broker.coordinators import Cluster

BATCH = build_batch([NewRecord(b"v")])


class ScriptedPeers(Peers):
    """Other brokers that answer what a test says."""

    def __init__(self, answer: ProduceResponse | BrokerError) -> None:
        self.answer = answer
        self.asked: list[tuple[int, ProduceRequest]] = []

    def ask(self, node_id: int, request: object, done: Done[ProduceResponse]) -> None:
        assert isinstance(request, ProduceRequest)
        encode_request(request, 13, 1, "broker-0")  # brokers speak the newest version
        self.asked.append((node_id, request))
        done(self.answer)


def answer(*codes: int) -> ProduceResponse:
    parts = tuple(PartitionProduceResponse(index=0, error_code=ErrorCode(code), base_offset=0) for code in codes)
    return ProduceResponse(responses=(TopicProduceResponse(partition_responses=parts),))


def appended(
    leader: int, peers: ScriptedPeers, batch: bytes = BATCH
) -> tuple[list[BrokerError | None], LogStore, TopicMetadata]:
    metadata = ClusterMetadata(random.Random(1))
    for node_id in (0, 1):
        metadata.register_broker(BrokerEndpoint(node_id, "host", 9092 + node_id))
    topic = metadata.create_topic("dlq.x")
    metadata.move_leader(TopicPartition("dlq.x", 0), leader)
    found = metadata.topic("dlq.x")
    assert found is not None
    cluster, outcomes = Cluster(metadata), list[BrokerError | None]()
    QueueAppends(cluster.lent[0], peers).append(found, 0, batch, outcomes.append)
    return outcomes, cluster.parts.logs, topic


def test_a_broker_appends_to_its_own_log() -> None:
    outcomes, logs, topic = appended(0, ScriptedPeers(answer(0)))
    assert outcomes == [None]
    assert logs.get(topic.topic_id, 0).end_offset == 1


def test_a_batch_that_the_own_log_refuses() -> None:
    outcomes, _, _ = appended(0, ScriptedPeers(answer(0)), build_batch([NewRecord(b"v" * 2_000_000)]))
    assert [type(each) for each in outcomes] == [MessageTooLargeError]


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (answer(0), None),
        (answer(10), MessageTooLargeError),
        (answer(6), NotLeaderOrFollowerError),
        (answer(), UnknownServerError),
        (CoordinatorNotAvailableError("down"), NetworkExceptionError),
    ],
)
def test_another_broker_is_asked_by_produce(
    response: ProduceResponse | BrokerError, outcome: type[BrokerError] | None
) -> None:
    peers = ScriptedPeers(response)
    outcomes, _, topic = appended(1, peers)
    assert [None if each is None else type(each) for each in outcomes] == [outcome]
    [(node_id, request)] = peers.asked
    [data] = request.topic_data
    assert (node_id, data.topic_id, data.partition_data[0].records) == (1, topic.topic_id, BATCH)
