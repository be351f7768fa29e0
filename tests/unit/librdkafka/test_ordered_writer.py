"""A writer whose producer's queue is full: it keeps the order, waits for a moment, and says what it waits for."""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.errors import (
    DeliveryFailedError,
    KafkaGroupsError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.librdkafka import ordered_writer
from kafka_groups.librdkafka.failures import LOCAL, failure_of
from kafka_groups.librdkafka.ordered_writer import OrderedWriter
from kafka_groups.testing.clock import ManualClock

Report = Callable[[KafkaError | None, object], None]


class FakeProducer:
    """Takes as many records as it has room for. A poll lets the time pass, and makes room if the brokers answer."""

    def __init__(self, clock: ManualClock, room: int = 0) -> None:
        self.clock = clock
        self.room = room
        self.answered = 0
        self.taken: list[bytes] = []
        self.reports: list[Report] = []
        self.refusals: list[KafkaError] = []
        self.known: dict[str, int] = {}
        self.asked = 0

    def list_topics(self, timeout: float) -> "FakeProducer":
        self.asked += 1
        if not self.known:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return self

    @property
    def topics(self) -> dict[str, "KnownTopic"]:
        return {name: KnownTopic(dict.fromkeys(range(count))) for name, count in self.known.items()}

    def produce(self, _topic: str, value: bytes, *_args: object, on_delivery: Report, **_kwargs: object) -> None:
        if self.refusals:
            raise KafkaException(self.refusals.pop())
        if value == b"refused":
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        if not self.room:
            raise BufferError
        self.room -= 1
        self.taken.append(value)
        self.reports.append(on_delivery)

    def poll(self, timeout_s: float) -> None:
        self.clock.advance(round(timeout_s * 1_000))
        self.room += self.answered

    def flush(self, timeout_s: float) -> int:
        self.clock.advance(round(timeout_s * 1_000))
        return 0 if self.answered else len(self.taken)

    def purge(self) -> None: ...

    def __len__(self) -> int:
        return len(self.taken)


class KnownTopic(NamedTuple):
    """A topic as the brokers know it."""

    partitions: dict[int, None]
    error: None = None


class Fixed:
    """A writer with a fake producer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.producer = FakeProducer(self.clock)
        monkeypatch.setattr(ordered_writer, "new_producer", lambda _config: self.producer)
        self.writer = OrderedWriter({"bootstrap.servers": "one:9092"}, self.clock)
        self._numbers = count()

    def write(self, times: int) -> None:
        for _ in range(times):
            self.writer.write("out", None, str(next(self._numbers)).encode(), 1, (), None)


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> Fixed:
    return Fixed(monkeypatch)


def test_writes_wait_a_second_in_all_while_the_brokers_take_nothing(fixed: Fixed) -> None:
    begun_ms = fixed.clock.now_ms()
    fixed.write(1_000)
    assert fixed.clock.now_ms() - begun_ms == 1_000
    assert not fixed.writer.has_room


def test_a_write_waits_for_brokers_that_answer_and_nothing_piles_up(fixed: Fixed) -> None:
    fixed.producer.answered = 1
    fixed.write(100)
    assert fixed.producer.taken == [str(at).encode() for at in range(100)]
    assert fixed.writer.has_room


def test_records_that_waited_are_written_in_order_before_later_ones(fixed: Fixed) -> None:
    fixed.producer.room = 3
    fixed.write(10)
    fixed.producer.room = 4
    fixed.write(5)
    fixed.producer.answered = 1
    fixed.writer.flush(60)
    assert fixed.producer.taken == [str(at).encode() for at in range(15)]


def test_a_flush_ends_in_time_and_names_the_brokers_and_topics(fixed: Fixed) -> None:
    fixed.producer.room = 3
    fixed.write(5)
    begun_ms = fixed.clock.now_ms()
    text = r"one:9092 have not confirmed 5 records after 0.5 s; written to: out"
    with pytest.raises(DeliveryFailedError, match=text) as raised:
        fixed.writer.flush(0.5)
    assert fixed.clock.now_ms() - begun_ms == 500
    assert (raised.value.failed, raised.value.unanswered) == (0, 5)


def test_a_record_that_waited_and_is_refused_fails_the_flush_and_not_the_writes_after_it(fixed: Fixed) -> None:
    fixed.write(1)
    fixed.writer.write("big", None, b"refused", 1, (), None)
    fixed.producer.answered = 5
    fixed.write(1)
    with pytest.raises(DeliveryFailedError, match="A record for big cannot be written"):
        fixed.writer.flush(60)
    assert fixed.producer.taken == [b"0", b"1"]


class Refused(NamedTuple):
    """What a producer says of a record that brokers refuse. It does not return the headers."""

    place: int = -1

    def topic(self) -> str:
        return "out"

    def partition(self) -> int:
        return self.place

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return 0, -1  # not available, as in librdkafka


def test_a_refused_record_comes_back_once_with_its_origin(fixed: Fixed) -> None:
    fixed.producer.room = fixed.producer.answered = 2
    fixed.writer.write("out", b"k", b"v", 5, (("h", b"1"),), None, "a sink")
    fixed.writer.write("out", b"k", b"v", 5, (), 3, "a sink")
    error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    for report, place in zip(fixed.producer.reports, (-1, 3), strict=True):
        report(error, Refused(place))
    fixed.writer.flush(1)
    first, second = fixed.writer.refused()
    assert first[:6] == ("out", b"k", b"v", 5, (("h", b"1"),), None)
    assert second[:6] == ("out", b"k", b"v", 5, (), 3)
    assert isinstance(first.error, TopicAuthorizationFailedError)
    assert first.origin == "a sink"
    assert fixed.writer.refused() == []


def test_a_record_that_waited_and_is_refused_comes_back_with_its_origin(fixed: Fixed) -> None:
    fixed.write(1)
    fixed.writer.write("out", b"k", b"refused", 5, (("h", b"1"),), 3, "a sink")
    fixed.producer.answered = 5
    fixed.writer.flush(60)
    (record,) = fixed.writer.refused()
    assert record[:6] == ("out", b"k", b"refused", 5, (("h", b"1"),), 3)
    assert isinstance(record.error, MessageTooLargeError)


OLD_METADATA = (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)


@pytest.mark.parametrize("code", sorted(LOCAL))
def test_a_record_that_the_producer_refuses_waits_if_that_may_pass(fixed: Fixed, code: int) -> None:
    fixed.producer.room = fixed.producer.answered = 9
    fixed.producer.known = {"out": 1}
    fixed.producer.refusals = [KafkaError(code)]
    if failure_of(KafkaError(code), "").retriable:
        fixed.write(3)
        fixed.writer.flush(60)
        assert fixed.producer.taken == [b"0", b"1", b"2"]
        assert fixed.producer.asked == (code in OLD_METADATA)
    else:
        with pytest.raises(KafkaGroupsError, match="A record for out cannot be written"):
            fixed.write(1)


@pytest.mark.parametrize("code", OLD_METADATA)
def test_a_partition_that_the_brokers_do_not_have_is_refused_and_they_are_asked_once_a_second(
    fixed: Fixed, code: int
) -> None:
    fixed.producer.known = {"out": 1}
    fixed.producer.refusals = [KafkaError(code)] * 200
    for _ in range(100):
        with pytest.raises(UnknownTopicOrPartitionError):
            fixed.writer.write("out" if code == KafkaError._UNKNOWN_PARTITION else "gone", None, b"v", 1, (), 1)
    assert fixed.producer.asked == 1
    assert fixed.writer.has_room


def test_a_record_waits_while_no_broker_tells_about_its_partition_until_the_flush_gives_up(fixed: Fixed) -> None:
    fixed.producer.refusals = [KafkaError(KafkaError._UNKNOWN_PARTITION)] * 1_000
    fixed.write(1)
    with pytest.raises(DeliveryFailedError, match="have not confirmed 1 record after") as raised:
        fixed.writer.flush(10)
    assert raised.value.retriable
    assert 10 <= fixed.producer.asked <= 13


@pytest.mark.parametrize("code", sorted(LOCAL))
def test_records_that_were_not_written_may_be_written_again_by_the_table(fixed: Fixed, code: int) -> None:
    fixed.producer.room = fixed.producer.answered = 2
    fixed.writer.write_tracked("out", b"k", b"v", 5, (), 1)
    fixed.writer.write("out", b"k", b"v", 5, (), 1)
    for report, each in zip(fixed.producer.reports, (code, KafkaError._MSG_TIMED_OUT), strict=True):
        report(KafkaError(each, f"code {each}"), Refused(1))
    with pytest.raises(DeliveryFailedError, match=rf"Could not write 2 records; the first: .*code {code}") as raised:
        fixed.writer.flush(1)
    assert raised.value.retriable is failure_of(KafkaError(code), "").retriable
    assert not fixed.writer.written


def test_a_new_producer_has_nothing_of_the_one_before(fixed: Fixed) -> None:
    before, fixed.producer = fixed.producer, FakeProducer(fixed.clock, room=5)
    before.room = 2
    fixed.writer.write_tracked("out", b"k", b"v", 5, (), 1)
    fixed.writer.write("out", b"k", b"v", 5, (), 1, "a sink")
    fixed.writer.write("out", b"k", b"waits", 5, (), 1)
    for report in before.reports:
        report(KafkaError(KafkaError._MSG_TIMED_OUT), Refused(1))
    fixed.writer.renew()
    fixed.producer.answered = 1
    fixed.writer.flush(1)
    assert not fixed.writer.refused()
    assert not fixed.producer.taken


def test_a_closed_writer_drops_what_waited() -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 2, "log_level": 0}
    writer = OrderedWriter(config)
    for _ in range(5):
        writer.write("out", None, b"v", 1, (), None)
    assert repr(writer).endswith("5 queued>")
    assert not writer.has_room
    writer.close()
    assert writer.has_room
