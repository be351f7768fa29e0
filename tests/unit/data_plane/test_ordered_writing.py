"""A writer whose producer's queue is full: it keeps the order, waits for a moment, and says what it waits for."""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.data_plane import ordered_writing
from kafka_groups.data_plane.ordered_writing import OrderedWriter
from kafka_groups.errors import DeliveryFailedError, MessageTooLargeError, TopicAuthorizationFailedError
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

    def produce(self, _topic: str, value: bytes, *_args: object, on_delivery: Report, **_kwargs: object) -> None:
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

    def __len__(self) -> int:
        return len(self.taken)


class Fixed:
    """A writer with a fake producer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.producer = FakeProducer(self.clock)
        monkeypatch.setattr(ordered_writing, "new_producer", lambda _config: self.producer)
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
    text = r"5 records are not confirmed by one:9092 after 0.5 s; written to: out"
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


def test_a_closed_writer_drops_what_waited() -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 2, "log_level": 0}
    writer = OrderedWriter(config)
    for _ in range(5):
        writer.write("out", None, b"v", 1, (), None)
    assert repr(writer).endswith("5 queued>")
    assert not writer.has_room
    writer.close()
    assert writer.has_room
