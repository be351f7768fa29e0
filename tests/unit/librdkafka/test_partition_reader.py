"""An error between records: nothing is lost before it, and its partition is not read behind it."""

from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as Position

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.librdkafka import partition_reader
from kafka_groups.librdkafka.failures import LOCAL, failure_of
from kafka_groups.librdkafka.partition_reader import PartitionReader
from kafka_groups.types import TopicPartition

CONFIG = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
PASSING = {
    *(code for code in LOCAL if failure_of(KafkaError(code), "").retriable),
    KafkaError.INVALID_MSG,  # an answer to a fetch
    KafkaError.UNKNOWN,  # also Kafka's consumers fetch again
}
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def record(partition: int, offset: int) -> Message:
    return Message("t", partition, offset, b"k", b"v")


def failure(partition: int | None, code: int = KafkaError._BAD_MSG) -> Message:
    if partition is None:
        return Message(error=KafkaError(code, "broken"))
    return Message("t", partition, error=KafkaError(code, "broken"))


class FakeConsumer:
    """Has some messages, and notes what it is assigned."""

    def __init__(self, _config: object = None) -> None:
        self.messages: list[Message] = []
        self.assigned: dict[tuple[str, int], int] = {}

    def consume(self, most: int, _timeout_s: float) -> list[Message]:
        taken, self.messages = self.messages[:most], self.messages[most:]
        return taken

    def poll(self, _timeout_s: float) -> None:
        return None

    def incremental_assign(self, positions: Sequence[Position]) -> None:
        self.assigned |= {(each.topic, each.partition): each.offset for each in positions}

    def incremental_unassign(self, positions: Sequence[Position]) -> None:
        for each in positions:
            del self.assigned[each.topic, each.partition]

    def position(self, positions: Sequence[Position]) -> list[Position]:
        return [Position(each.topic, each.partition, 100) for each in positions]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeConsumer:
    consumer = FakeConsumer()
    monkeypatch.setattr(partition_reader, "Consumer", lambda _config: consumer)
    return consumer


@pytest.fixture
def reader(fake: FakeConsumer) -> PartitionReader:
    reader = PartitionReader(CONFIG, "g")
    reader.assign({T0: 5, T1: 0})
    assert fake.assigned == {("t", 0): 5, ("t", 1): 0}
    return reader


def read(reader: PartitionReader, most: int = 10) -> list[tuple[int, int]]:
    return [(each.partition, each.offset) for each in reader.read(most, 0.1)]


def test_records_around_an_error_are_returned_except_those_behind_it_in_its_partition(
    reader: PartitionReader, fake: FakeConsumer
) -> None:
    fake.messages = [record(0, 5), record(1, 0), failure(0), record(1, 1), record(0, 7)]
    assert read(reader) == [(0, 5), (1, 0)]
    assert reader.position(T1) == 1  # librdkafka would say what it has handed over
    with pytest.raises(KafkaGroupsError, match="t-0 cannot be read: broken"):
        read(reader)
    assert set(reader.assigned) == {T1}
    assert list(fake.assigned) == [("t", 1)]
    assert read(reader) == [(1, 1)]
    assert read(reader) == []


def test_each_error_is_raised_once(reader: PartitionReader, fake: FakeConsumer) -> None:
    fake.messages = [failure(0), failure(0), failure(None, KafkaError._FAIL), record(1, 3), failure(1)]
    with pytest.raises(KafkaGroupsError, match="t-0"):
        read(reader)
    with pytest.raises(KafkaGroupsError, match="the partitions cannot be read"):
        read(reader)
    assert read(reader) == [(1, 3)]
    with pytest.raises(KafkaGroupsError, match="t-1"):
        read(reader)
    assert read(reader) == []
    assert not reader.assigned


def test_a_partition_that_is_given_up_and_one_that_starts_anew_have_no_records_of_before(
    reader: PartitionReader, fake: FakeConsumer
) -> None:
    fake.messages = [record(0, 5), failure(None), record(0, 6), record(1, 0)]
    assert read(reader) == [(0, 5)]
    reader.assign({T0: 2})
    assert fake.assigned == {("t", 0): 2, ("t", 1): 0}
    reader.unassign([T1])
    with pytest.raises(KafkaGroupsError):
        read(reader)
    assert read(reader) == []


@pytest.mark.parametrize("code", sorted({*LOCAL, KafkaError.INVALID_MSG} - {KafkaError._PARTITION_EOF}))
def test_a_partition_is_read_on_after_errors_that_may_pass_and_after_no_others(
    reader: PartitionReader, fake: FakeConsumer, code: int
) -> None:
    """librdkafka fetches the same offset again after the former. Behind the latter, records may be missing."""
    fake.messages = [record(0, 5), failure(0, code), record(0, 6), record(1, 0)]
    assert read(reader) == [(0, 5)]
    with pytest.raises(KafkaGroupsError, match="t-0 cannot be read: broken") as raised:
        read(reader)
    passes = raised.value.retriable
    assert passes is (code in PASSING)
    assert (T0 in reader.assigned) is passes
    assert read(reader) == ([(0, 6), (1, 0)] if passes else [(1, 0)])


def test_more_records_than_wanted_stay_where_they_are(reader: PartitionReader, fake: FakeConsumer) -> None:
    fake.messages = [record(0, offset) for offset in range(5)]
    assert [len(read(reader, 2)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_key_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no\.such\.key"):
        PartitionReader(CONFIG | {"no.such.key": 1}, "g")
