"""The leaders and replicas that are fetched from, and what becomes of their refusals."""

import pytest
from attrs import evolve

from kafka_groups.errors import (
    DisconnectedError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchResponse
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.types import TopicPartition
from tests.support.naive_brokers import NaiveBrokers
from tests.unit.records.fetching.scenes import A0, A1, B0, brokers, take, values, write


@pytest.mark.parametrize("node_id", [1, 2])
def test_the_leader_that_a_refusal_names_is_asked_at_once(node_id: int) -> None:
    """Node 1 stays the leader in a new epoch, which fences the old one; node 2 is a new leader."""
    found = brokers()
    write(found, A0, b"x")
    found.partitions[A0].lead(node_id)
    found.reader.assign({A0: 0})
    found.turn()
    assert found.poll() > 1_000
    assert [each.node_id for each in found.sent] == [node_id]
    found.answer()
    assert values(take(found)) == [b"x"]
    assert not found.refreshes


def test_without_a_leader_in_the_refusal_metadata_is_asked_for() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.partitions[A0].refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
    found.turn()
    assert found.refreshes == 1
    assert 0 < found.poll() <= 120
    assert not found.sent
    found.partitions[A0].refusal = None
    found.partitions[A0].lead(2)
    found.tell_metadata()  # there is news, so nothing waits any more
    found.poll()
    assert [each.node_id for each in found.sent] == [2]


def test_an_epoch_that_the_leader_does_not_know_yet_waits_without_metadata() -> None:
    found = brokers()
    found.partitions[A0].log.leader_epoch = 5
    found.tell_metadata()
    found.partitions[A0].log.leader_epoch = 4
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.turn()
    assert 0 < found.poll() <= 120
    assert not found.refreshes
    found.partitions[A0].log.leader_epoch = 5
    found.now_ms += 120
    found.turn()
    assert values(take(found)) == [b"x"]


def test_a_partition_without_a_leader_waits_for_metadata() -> None:
    found = brokers()
    found.partitions[A0].leader = -1
    found.partitions[A0].log.leader_epoch += 1
    found.tell_metadata()
    found.reader.assign({A0: 0})
    assert 0 < found.poll() <= 120
    assert (found.sent, found.refreshes) == ([], 1)
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.poll()
    assert [each.node_id for each in found.sent] == [2]


@pytest.mark.parametrize(
    ("place", "error", "text"),
    [
        (A0, LeaderNotAvailableError, "it has no leader"),
        (TopicPartition("a", 7), UnknownTopicOrPartitionError, "the topic has 2 partitions"),
        (TopicPartition("unknown", 0), LeaderNotAvailableError, "no broker has told its leader yet"),
        (TopicPartition("missing", 0), UnknownTopicOrPartitionError, "the topic does not exist"),
    ],
)
def test_a_partition_that_cannot_be_fetched_for_long_is_an_error(
    place: TopicPartition, error: type[KafkaGroupsError], text: str
) -> None:
    found = brokers()
    found.partitions[A0].leader = -1
    found.partitions[A0].log.leader_epoch += 1
    found.tell_metadata()
    missing = MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name="missing")
    found.metadata.apply(MetadataResponse(topics=(missing,)))
    found.reader.assign({place: 0})
    begun_ms = found.now_ms
    while not found.reader.has_news:
        found.now_ms += found.poll()
    assert 5_000 <= found.now_ms - begun_ms <= 7_000
    with pytest.raises(error, match=f"{place} cannot be read: {text}") as raised:
        found.reader.raise_failure()
    assert raised.value.retriable
    assert found.reader.assigned == {place}


def test_an_error_that_does_not_pass_ends_the_partition() -> None:
    found = brokers(options=FetchOptions(principal="User:ann"))
    found.partitions[A0].refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    write(found, B0, b"b")
    found.reader.assign({A0: 3, B0: 0})
    found.turn()
    assert values(take(found), B0) == [b"b"]
    with pytest.raises(TopicAuthorizationFailedError, match="User:ann needs READ on the topic a "):
        found.reader.raise_failure()
    assert found.reader.assigned == {B0}


def test_a_broker_that_does_not_answer_is_asked_again_and_is_an_error_after_a_while() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0, A1: 0})
    begun_ms = found.now_ms
    while not found.reader.has_news:
        found.now_ms += min(found.poll(), 1_000)
        found.fail(DisconnectedError("gone"))
    assert 5_000 <= found.now_ms - begun_ms <= 8_000
    with pytest.raises(DisconnectedError, match="gone"):
        found.reader.raise_failure()
    found.now_ms += 2_000
    found.turn()
    assert values(take(found)) == [b"x"]


def test_a_failure_that_no_repetition_helps_is_told_at_once() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.poll()
    found.fail(UnsupportedVersionError("too old"))
    with pytest.raises(UnsupportedVersionError, match="too old"):
        found.reader.raise_failure()


def test_an_error_of_the_whole_response_is_that_of_the_broker() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.poll()
    found.answer(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, responses=())
    assert found.refreshes == 1
    assert 0 < found.poll() <= 120


def test_the_replica_that_a_leader_names_is_fetched_from_until_it_refuses() -> None:
    found = brokers(options=FetchOptions(rack="r2"))
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    named = _with_replica(found.response_to(found.sent[0]), 3)
    found.answer(responses=named.responses)
    found.poll()
    assert [each.node_id for each in found.sent] == [3]
    found.answer()  # it does not follow any more
    found.now_ms += 120
    found.poll()
    assert [each.node_id for each in found.sent] == [1]
    found.answer()
    assert values(take(found)) == [b"x"]


def test_a_replica_is_left_when_it_cannot_be_reached_or_after_a_while() -> None:
    found = brokers(options=FetchOptions(rack="r2"))
    found.reader.assign({A0: 0})
    for is_gone in (True, False):
        found.poll()
        named = _with_replica(found.response_to(found.sent[0]), 3)
        found.answer(responses=named.responses)
        found.poll()
        assert [each.node_id for each in found.sent] == [3]
        if is_gone:
            found.fail(DisconnectedError("gone"))
        found.now_ms += 300_000
        found.sent = []
        found.reader.assign({A0: 0})
        found.poll()
        assert [each.node_id for each in found.sent] == [1]


def _with_replica(response: FetchResponse, node_id: int) -> FetchResponse:
    (topic,) = response.responses
    data = tuple(evolve(each, preferred_read_replica=node_id, records=b"") for each in topic.partitions)
    return evolve(response, responses=(evolve(topic, partitions=data),))


def test_assigned_before_anything_is_known_it_is_fetched_when_the_metadata_comes() -> None:
    found = NaiveBrokers({"a": 1})
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    assert 0 < found.poll() <= 120
    assert found.refreshes == 1
    found.tell_metadata()
    found.turn()
    assert values(take(found)) == [b"x"]
