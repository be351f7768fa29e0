"""Polls of assigned partitions when one of them has an error."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as Position

from kafka_groups.errors import KafkaGroupsError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.librdkafka import partition_poller
from kafka_groups.librdkafka.failures import LOCAL, failure_of
from kafka_groups.librdkafka.partition_poller import PartitionPoller
from kafka_groups.types import TopicPartition

GOOD, BAD = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Arrived(NamedTuple):
    """What the consumer returns for a record or an error."""

    place: TopicPartition
    at: int = 0
    code: int | None = None

    def topic(self) -> str:
        return self.place.topic

    def partition(self) -> int:
        return self.place.partition

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return 1, 5

    def headers(self) -> None:
        return None


class FakeConsumer:
    """Returns what the test has put into `arrived`."""

    arrived: Sequence[Arrived] = ()
    calls: ClassVar[list[tuple[str, int]]] = []

    def __init__(self, config: object) -> None: ...

    def incremental_assign(self, positions: list[Position]) -> None: ...

    def incremental_unassign(self, positions: list[Position]) -> None:
        FakeConsumer.calls += [("unassign", each.partition) for each in positions]

    def pause(self, positions: list[Position]) -> None:
        FakeConsumer.calls += [("pause", each.partition) for each in positions]

    def resume(self, positions: list[Position]) -> None:
        FakeConsumer.calls += [("resume", each.partition) for each in positions]

    def poll(self, _timeout_s: float) -> Arrived | None:
        found = self.consume(1, 0)
        return found[0] if found else None

    def consume(self, _most: int, _timeout_s: float) -> list[Arrived]:
        found, FakeConsumer.arrived = list(self.arrived), ()
        return found


@pytest.fixture
def poller(monkeypatch: pytest.MonkeyPatch) -> PartitionPoller:
    monkeypatch.setattr(partition_poller, "Consumer", FakeConsumer)
    monkeypatch.setattr(FakeConsumer, "calls", [])
    made = PartitionPoller({"bootstrap.servers": "localhost:9092"}, "app")
    made.assign({GOOD: 0, BAD: 0})
    return made


def test_records_beside_errors_are_returned_and_each_error_is_raised_once(poller: PartitionPoller) -> None:
    FakeConsumer.arrived = [
        Arrived(GOOD, 0),
        Arrived(BAD, code=KafkaError.UNKNOWN_TOPIC_OR_PART),
        Arrived(BAD, code=KafkaError.TOPIC_AUTHORIZATION_FAILED),
        Arrived(GOOD, 1),
    ]
    assert [record.offset for record in poller.poll(10).batches[GOOD].records()] == [0, 1]
    with pytest.raises(UnknownTopicOrPartitionError, match="orders-1 cannot be read"):
        poller.poll(10)
    with pytest.raises(TopicAuthorizationFailedError, match="orders-1 cannot be read"):
        poller.poll(10)
    FakeConsumer.arrived = [Arrived(GOOD, 2)]
    assert [record.offset for record in poller.poll(10).batches[GOOD].records()] == [2]


def test_what_was_waited_for_is_dropped_with_its_partition(poller: PartitionPoller) -> None:
    FakeConsumer.arrived = [Arrived(BAD, 1_000)]
    poller.wait(1.0)
    poller.unassign([GOOD, BAD])
    poller.assign({BAD: 0})
    FakeConsumer.arrived = [Arrived(BAD, 0)]
    assert [record.offset for record in poller.poll(10).batches[BAD].records()] == [0]


def test_what_was_waited_for_stays_if_another_partition_ends(poller: PartitionPoller) -> None:
    FakeConsumer.arrived = [Arrived(GOOD, 7)]
    poller.wait(1.0)
    poller.unassign([BAD])
    assert [record.offset for record in poller.poll(10).batches[GOOD].records()] == [7]


def test_a_paused_partition_is_resumed_before_it_ends(poller: PartitionPoller) -> None:
    poller.pause([GOOD])
    poller.unassign([GOOD, BAD])
    assert FakeConsumer.calls[:2] == [("pause", 0), ("resume", 0)]
    assert ("resume", 1) not in FakeConsumer.calls


def test_records_before_an_offset_that_is_lost_are_returned(poller: PartitionPoller) -> None:
    FakeConsumer.arrived = [Arrived(BAD, 98), Arrived(BAD, code=KafkaError.OFFSET_OUT_OF_RANGE)]
    polled = poller.poll(10)
    assert [record.offset for record in polled.batches[BAD].records()] == [98]
    assert polled.out_of_range == (BAD,)


LOST = {KafkaError._AUTO_OFFSET_RESET}


@pytest.mark.parametrize("code", sorted(LOCAL.keys() - LOST - {KafkaError._PARTITION_EOF}))
def test_records_behind_an_error_are_returned_only_if_it_may_pass(poller: PartitionPoller, code: int) -> None:
    """librdkafka fetches the same offset again, unless the batch is damaged: then it may go on behind it."""
    passes = failure_of(KafkaError(code), "").retriable or code == KafkaError.UNKNOWN
    FakeConsumer.arrived = [Arrived(BAD, 0), Arrived(BAD, code=code), Arrived(BAD, 9), Arrived(GOOD, 0)]
    batches = poller.poll(10).batches
    assert [record.offset for record in batches[GOOD].records()] == [0]
    assert [record.offset for record in batches[BAD].records()] == ([0, 9] if passes else [0])
    with pytest.raises(KafkaGroupsError, match="orders-1 cannot be read") as raised:
        poller.poll(10)
    assert raised.value.retriable is passes
    assert (BAD in poller.assigned) is passes
    FakeConsumer.arrived = [Arrived(BAD, 10)]
    assert bool(poller.poll(10).batches) is passes
