"""The figures of a producer in lives that are known. All sizes and times are computed by hand."""

import math
from contextlib import suppress

import pytest

from kafka_groups.errors import MessageTooLargeError, UnknownTopicOrPartitionError
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.batches.building import BatchSettings
from kafka_groups.records.metrics import ProducerSources, producer_metrics
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.producing.producer_sensors import TimeSpent
from tests.support.producing.partition_of_producers import POISON
from tests.support.producing.producer_world import TOPIC, ProducerWorld

HEADER, OF_RECORD = 61, 8
"""The bytes of a batch without records, and of a record with the key "k" and less than 56 bytes, without its value."""


def world_of(**settings: object) -> ProducerWorld:
    """One partition on one broker."""
    return ProducerWorld(partitions=1, nodes=1, settings=AccumulatorSettings(**settings))  # type: ignore[arg-type]


def ready(**settings: object) -> ProducerWorld:
    """A world whose producer has an id."""
    world = world_of(**settings)
    world.write(0, [b"first"])
    world.settle()
    return world


def values(world: ProducerWorld, *names: str, topic: str | None = None) -> list[float]:
    sources = ProducerSources(world.sensors, 0, 0, world.steady_ms)
    found = {each.name: each.value for each in producer_metrics("me", sources) if each.tags.get("topic") == topic}
    return [found[name] for name in names]


def test_requests_and_batches() -> None:
    world = world_of(linger_ms=5)
    names = ("record-send-total", "record-send-rate", "requests-in-flight", "records-per-request-avg")
    assert values(world, *names[:3]) == [0, 0, 0]
    assert all(math.isnan(each) for each in values(world, names[3], "request-latency-avg", "batch-size-max"))
    world.write(0, [b"0123456789"] * 2)
    world.turn()  # the batch is seen at 1,000 ms
    world.pass_time(5)  # asks for an id
    world.now_ms += 20
    world.handle(0)
    world.deliver(0)  # the id comes, and the batch is sent at 1,025 ms
    assert values(world, *names) == [2, 2 / 30, 1, 2]
    world.throttle_ms = 7
    world.pass_time(30)
    world.handle(0)
    world.deliver(0)
    assert values(world, "requests-in-flight", "request-latency-avg", "produce-throttle-time-avg") == [0, 30, 7]
    assert values(world, "record-queue-time-avg", "batch-size-avg") == [25, HEADER + 2 * (OF_RECORD + 10)]

    world.steady_ms = 15_000  # which deadlines and latencies do not notice
    world.throttle_ms = 1
    world.pass_time(10)
    world.write(0, [b"v" * 30])
    world.turn()
    world.pass_time(9)
    world.pass_time(51)
    world.answer_all()
    assert values(world, *names) == [3, 3 / 45, 0, 1.5]
    assert values(world, "request-latency-avg", "request-latency-max") == [(30 + 51) / 2, 51]
    assert values(world, "record-queue-time-avg", "record-queue-time-max") == [(25 + 9) / 2, 25]
    assert values(world, "batch-size-avg", "batch-size-max") == [(97 + 99) / 2, 99]
    assert values(world, "produce-throttle-time-avg", "produce-throttle-time-max") == [4, 7]
    assert values(world, "compression-rate-avg", "record-retry-total", "record-error-total") == [1, 0, 0]
    assert values(world, "record-send-total", "byte-total", "byte-rate", topic=TOPIC) == [3, 97 + 99, (97 + 99) / 45]


@pytest.mark.parametrize("is_flushed", [True, False])
def test_a_batch_that_is_complete_at_once_is_as_old_as_the_first_look(*, is_flushed: bool) -> None:
    world = world_of(batch_bytes=100)
    world.produce.flush_requested = is_flushed
    world.write(0, [b"v" * 30] * 2)
    world.turn()  # the first batch is complete, and there is no id yet
    world.now_ms += 40
    world.handle(0)
    world.deliver(0)
    assert values(world, "record-send-total", "record-queue-time-max") == [1, 40]


def test_compression_is_that_of_the_records_without_the_header() -> None:
    world = world_of(form=BatchSettings(Compression.GZIP))
    world.write(0, [b"0" * 40] * 10)
    world.settle()
    [batch] = [data for message in world.messages for topic in message.topic_data for data in topic.partition_data]
    sent, plain = len(batch.records or b"") - HEADER, 10 * (OF_RECORD + 40)
    assert sent < plain / 5
    assert values(world, "compression-rate-avg") == [pytest.approx(sent / plain)]
    assert values(world, "compression-rate", topic=TOPIC) == [pytest.approx(sent / plain)]
    assert values(world, "batch-size-max") == [HEADER + sent]


@pytest.mark.parametrize("error", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])
def test_records_that_are_sent_again_count_again(error: ErrorCode) -> None:
    world = ready()
    world.write(0, [b"a", b"b", b"c"])
    world.faults[0].append(error)
    world.settle_once()
    names = ("record-retry-total", "record-retry-rate", "record-error-total")
    assert values(world, *names, "record-send-total", "requests-in-flight") == [3, 3 / 30, 0, 1 + 2 * 3, 0]
    assert values(world, "record-retry-total", "record-retry-rate", topic=TOPIC) == [3, 3 / 30]


def test_a_connection_that_ends_is_no_answer() -> None:
    world = ready()
    before = world.sensors.throttle_times.times_per_second(0)
    world.write(0, [b"a", b"b"])
    world.turn()
    world.pass_time(5)
    assert values(world, "requests-in-flight") == [1]
    world.disconnect(0, handled=0)
    assert values(world, "requests-in-flight", "record-retry-total") == [0, 2]
    assert world.sensors.throttle_times.times_per_second(0) == before


def test_requests_of_a_producer_that_was_renewed_are_in_flight_until_they_are_answered() -> None:
    world = ready()
    world.write(0, [b"a"])
    world.turn()
    world.pass_time(5)
    world.produce.renew()
    assert values(world, "requests-in-flight") == [1]
    world.answer_all()
    assert values(world, "requests-in-flight") == [0]


def test_a_batch_that_is_divided() -> None:
    world = ready()
    world.logs[0].max_bytes = HEADER + 2 * (OF_RECORD + 10)
    world.write(0, [b"0123456789"] * 4)
    world.turn()
    world.pass_time(5)
    world.pass_time(30)
    world.answer_all()
    assert values(world, "record-queue-time-max") == [35]  # the halves are as old as the whole
    names = ("batch-split-total", "batch-split-rate", "record-retry-total", "record-error-total", "record-send-total")
    assert values(world, *names) == [1, 1 / 30, 0, 0, 1 + 4 + 2 + 2]


def test_records_that_are_refused() -> None:
    world = ready()
    world.write(0, [b"a", POISON, b"b"])
    world.settle_once()
    assert values(world, "record-error-total", "record-error-rate", "record-send-total") == [1, 1 / 30, 1 + 3 + 2]
    world.write(0, [b"c", b"d"])
    world.faults[0].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.settle_once()
    assert values(world, "record-error-total", "record-error-rate") == [3, 3 / 30]
    assert values(world, "record-error-total", "record-error-rate", topic=TOPIC) == [3, 3 / 30]


def test_records_that_are_never_queued_are_errors() -> None:
    world = ready(max_request_bytes=100)
    with pytest.raises(MessageTooLargeError):
        world.accumulator.write(TOPIC, b"k", bytes(100), 5, (), 0)
    world.topics.known_leaders.clear()  # there is no such topic
    with pytest.raises(UnknownTopicOrPartitionError):
        world.accumulator.write(TOPIC, b"k", b"v", 5, (), None)
    assert values(world, "record-error-total", "record-error-rate") == [2, 2 / 30]
    assert values(world, "record-error-total", topic=TOPIC) == [0]


def test_a_batch_whose_answer_is_the_end_of_the_producer_has_failed() -> None:
    world = ready()
    world.write(0, [b"a", b"b"])
    world.faults[0].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    world.turn()
    world.pass_time(5)
    world.answer_all()
    assert values(world, "record-error-total", "requests-in-flight") == [2, 0]


def test_the_time_of_calls_is_added_up() -> None:
    now_ms = 100
    spent = TimeSpent(lambda: now_ms)
    with spent:
        now_ms = 140
    with suppress(TimeoutError), spent:
        now_ms = 145
        raise TimeoutError
    assert spent.total_ms == 45
    assert repr(spent) == "<TimeSpent 45 ms>"
