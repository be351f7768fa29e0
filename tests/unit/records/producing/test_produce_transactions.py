"""Produce requests that belong to a transaction."""

from typing import Any

import pytest

from kafka_groups.client.requests import PollResult
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import TopicPartition
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import TOPIC, ProducerWorld
from tests.unit.records.producing.worlds import SMALL, check, lingered, numbers, values


class Transactional:
    """An identity of a transaction, as the manager of transactions is one."""

    is_transactional, transactional_id, newest_produce_version = True, "tx", 11

    def __init__(self) -> None:
        self.producer = ProducerIdAndEpoch(9, 3)
        self.permitted: set[TopicPartition] = set()
        self.produced: list[TopicPartition] = []
        self.lost: list[KafkaGroupsError] = []

    def may_produce(self, partition: TopicPartition) -> bool:
        return partition in self.permitted

    def note_produced(self, partition: TopicPartition) -> None:
        self.produced.append(partition)

    def lose(self, error: KafkaGroupsError) -> None:
        self.lost.append(error)

    def raise_epoch(self) -> None:
        raise AssertionError("only the coordinator raises the epoch of a transaction")

    def poll(self, _now_ms: int) -> Any:
        return PollResult()


def transacting() -> tuple[ProducerWorld, Transactional]:
    identity = Transactional()
    return ProducerWorld(settings=SMALL, identity=identity), identity


def test_batches_wait_until_their_partition_belongs_to_the_transaction() -> None:
    world, identity = transacting()
    world.version = 11
    world.write(0, values(1))
    lingered(world)
    assert world.messages == []
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.turn()
    [message] = world.messages
    assert message.transactional_id == "tx"
    assert [question.request.newest_version for question in world.requests[0]] == [11]
    assert identity.produced == [TopicPartition(TOPIC, 0)]
    world.settle()


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_a_lost_transaction_drops_its_records(code: ErrorCode) -> None:
    world, identity = transacting()
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.faults[0].append(code)
    world.write(0, values(3))
    world.settle_once()
    [error] = identity.lost
    assert error.code == code  # type: ignore[attr-defined]
    assert world.errors.fatal is None
    assert world.produce.is_flushed
    world.write(0, values(1))
    assert world.produce.is_flushed, "what is written is ignored until the producer is renewed"
    world.produce.renew()
    identity.producer = ProducerIdAndEpoch(9, 4)
    world.write(0, values(1))
    world.settle_once()
    assert numbers(world)[-1] == 0


def test_a_refused_record_does_not_lose_the_transaction() -> None:
    world, identity = transacting()
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.write(0, [b"a", POISON, b"b"])
    check(world)
    assert identity.lost == []


def test_a_refusal_in_doubt_loses_the_transaction() -> None:
    world, identity = transacting()
    identity.permitted.add(TopicPartition(TOPIC, 0))
    world.faults[0].extend([ErrorCode.REQUEST_TIMED_OUT, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
    world.write(0, values(1))
    world.settle_once()
    assert len(identity.lost) == 1
