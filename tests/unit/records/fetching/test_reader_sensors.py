"""The figures of a reader in lives that are known. All sizes and times are computed by hand."""

import math

import pytest

from kafka_groups.errors import DisconnectedError
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.metrics import ReaderSources, reader_metrics
from kafka_groups.types import TopicPartition
from tests.support.naive_brokers import NaiveBrokers

A0 = TopicPartition("a", 0)
HEADER, RECORD = 61, 18
"""The bytes of a batch without records, and of a record with the key "k" and ten bytes as value."""


def brokers() -> NaiveBrokers:
    found = NaiveBrokers({"a": 1})
    found.tell_metadata()
    found.reader.assign({A0: 0})
    return found


def write(found: NaiveBrokers, count: int, producer_id: int | None = None) -> None:
    found.log("a").append([NewRecord(b"0123456789", key=b"k")] * count, producer_id=producer_id)


def fetch(found: NaiveBrokers, took_ms: int, throttle_ms: int = 0) -> None:
    found.now_ms += 100
    found.poll()
    assert found.sent
    found.now_ms += took_ms
    found.answer(throttle_time_ms=throttle_ms)


def values(found: NaiveBrokers, *names: str) -> list[float]:
    metrics = {each.name: each.value for each in reader_metrics("me", ReaderSources(found.sensors, found.steady_ms))}
    return [metrics[name] for name in names]


def test_fetches_and_records() -> None:
    found = brokers()
    assert values(found, "fetch-total", "fetch-rate", "records-consumed-total", "bytes-consumed-rate") == [0, 0, 0, 0]
    assert all(math.isnan(each) for each in values(found, "fetch-latency-avg", "records-lag-max", "fetch-size-max"))
    write(found, 3)
    fetch(found, 40, throttle_ms=9)
    assert values(found, "fetch-size-avg", "records-per-request-avg") == [HEADER + 3 * RECORD, 3]
    assert values(found, "records-consumed-total", "bytes-consumed-total") == [0, 0]  # nobody has taken them
    found.reader.take(10, found.now_ms)
    assert values(found, "records-consumed-total", "bytes-consumed-total", "records-lag-max") == [3, 115, 0]

    found.steady_ms = 15_000  # which latencies do not notice
    write(found, 1)
    write(found, 1)
    fetch(found, 60, throttle_ms=1)
    found.reader.take(1, found.now_ms)
    assert values(found, "fetch-total", "fetch-rate") == [2, pytest.approx(2 / 45)]
    assert values(found, "fetch-latency-avg", "fetch-latency-max") == [50, 60]
    assert values(found, "fetch-size-avg", "fetch-size-max") == [(115 + 2 * 79) / 2, 2 * 79]
    assert values(found, "records-per-request-avg", "records-lag-max") == [2.5, 1]
    assert values(found, "records-consumed-total", "records-consumed-rate") == [4, pytest.approx(4 / 45)]
    assert values(found, "bytes-consumed-total", "bytes-consumed-rate") == [115 + 79, pytest.approx((115 + 79) / 45)]
    assert values(found, "fetch-throttle-time-avg", "fetch-throttle-time-max") == [5, 9]


def test_fetches_without_records_have_no_size() -> None:
    found = brokers()
    write(found, 2)
    fetch(found, 1)
    fetch(found, 1)
    assert values(found, "fetch-total", "fetch-size-avg", "records-per-request-avg") == [2, HEADER + 2 * RECORD, 2]


def test_aborted_records_are_fetched_and_not_consumed() -> None:
    found = brokers()
    write(found, 4, producer_id=7)
    found.log("a").end(7, is_commit=False)
    write(found, 1)
    fetch(found, 1)
    found.reader.take(10, found.now_ms)
    assert values(found, "records-per-request-avg", "records-consumed-total", "bytes-consumed-total") == [1, 1, 79]
    [size] = values(found, "fetch-size-avg")
    assert size > 4 * RECORD + 2 * HEADER + RECORD  # those that nobody sees have come all the same


def test_a_fetch_without_an_answer_is_not_counted() -> None:
    found = brokers()
    found.poll()
    found.fail(DisconnectedError("gone"))
    assert values(found, "fetch-total") == [0]
