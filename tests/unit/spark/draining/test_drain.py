"""Drains on an embedded broker, with a stand-in for the session: what is acquired, and what becomes of it."""

import itertools
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import (
    BootstrapError,
    ConfigurationError,
    IllegalStateError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.librdkafka import durable_producer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.share.delivery.share_records import ShareRecords
from kafka_groups.share.parts import Environment
from kafka_groups.spark.draining.drain import Drain, LockLostError, drain
from kafka_groups.spark.records.schema import RECORD_DDL, RECORD_SCHEMA
from tests.support.conditions import wait_until
from tests.support.leaping_clock import LeapingClock
from tests.unit.share.clusters import GROUP, SETTINGS

_numbers = itertools.count()


class Session:
    """What a drain wants of Spark, on a cluster."""

    sparkContext = SimpleNamespace(master="yarn")  # noqa: N815 - Spark's name

    def createDataFrame(self, table: Any, schema: str | None = None) -> Any:  # noqa: N802 - Spark's name
        return table if schema is None else (table, schema)


class Topic:
    """A topic and a group of one test's own."""

    def __init__(self, cluster: EmbeddedCluster, partitions: int = 1) -> None:
        self.cluster = cluster
        number = next(_numbers)
        self.name, self.group = f"orders-{number}", f"g-{number}"
        cluster.create_topic(self.name, partitions)
        cluster.alter_group_configs(self.group, GROUP)

    def produce(self, *values: bytes, partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers, "linger.ms": 20})
        for value in values:
            producer.produce(self.name, value, partition=partition)
        assert producer.flush(60) == 0

    def drain(self, **keywords: Any) -> Drain:
        config: dict[str, object] = {"bootstrap.servers": self.cluster.bootstrap_servers, "group.id": self.group}
        return drain(cast("Any", Session()), config, topics=[self.name], **{"idle_seconds": 0.4, **keywords})

    def values(self) -> list[bytes]:
        """What is there to be acquired now."""
        with self.drain() as batch:
            batch.release()
            return sorted(batch.table["value"].to_pylist())


LOCK_MS = 20_000
"""A leap as long as a lock must not reach the 30 s after which a consumer gives up a request."""

A_RECORD = {"max_records": 1, "idle_seconds": 30}
"""A drain that waits for a record, also on a busy machine, and then ends."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


def test_a_clean_end_accepts_all_and_rejected_and_released_records_differ(cluster: EmbeddedCluster) -> None:
    topic = Topic(cluster, partitions=2)
    topic.produce(b"a", b"b", b"c", b"d")
    topic.produce(b"e", partition=1)
    draining = topic.drain()
    with draining as batch:
        assert len(batch) == 5
        assert batch.stopped_by == "idle"
        assert batch.table.schema.equals(RECORD_SCHEMA)
        assert batch.df is cast("Any", batch.table), "one DataFrame, whatever actions are run on it"
        assert sorted(record.value or b"" for record in batch.records) == [b"a", b"b", b"c", b"d", b"e"]
        assert batch.delivery_counts.tolist() == [1] * 5
        assert batch.deadline > 0
        assert batch.reject(pc.equal(batch.table["value"], b"b")) == 1
        assert batch.release([(topic.name, 0, 3), (topic.name, 1, 0)]) == 2
    total = draining.result.total
    assert (total.acquired, total.accepted, total.rejected, total.released, total.lock_lost) == (5, 2, 1, 2, 0)
    assert topic.values() == [b"d", b"e"]
    with pytest.raises(IllegalStateError, match="has returned"):
        batch.reject()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_gives_everything_back_at_once_and_goes_on(
    cluster: EmbeddedCluster, error: type[BaseException]
) -> None:
    topic = Topic(cluster)
    topic.produce(b"a", b"b")
    draining = topic.drain()
    with pytest.raises(error, match="mine"), draining as batch:
        fail_with(error("mine"), after=batch.reject([(topic.name, 0, 1)]))
    assert draining.result.total.released == 2
    with topic.drain() as again:
        assert again.table["value"].to_pylist() == [b"a", b"b"]
        assert again.delivery_counts.tolist() == [2, 2]
    assert topic.values() == []


def fail_with(error: BaseException, *, after: int) -> None:
    assert after == 1
    raise error


def test_nothing_there_is_an_empty_batch_with_all_columns(cluster: EmbeddedCluster) -> None:
    with Topic(cluster).drain() as batch:
        assert (len(batch), batch.stopped_by) == (0, "idle")
        assert not batch
        assert batch.table.schema.equals(RECORD_SCHEMA)
        assert batch.df == cast("Any", (batch.table, RECORD_DDL))
        assert batch.reject() == 0


def test_limits_end_the_acquiring_and_the_rest_stays_for_others(cluster: EmbeddedCluster) -> None:
    topic = Topic(cluster)
    for number in range(6):
        topic.produce(b"%d" % number * 1000)
    with topic.drain(max_records=2, max_poll_records=1, idle_seconds=5) as batch:
        assert 2 <= len(batch) < 6
        assert batch.stopped_by == "records"
        others = topic.values()
        assert len(batch) + len(others) == 6
        batch.release()
    with topic.drain(max_bytes=1500, max_poll_records=1, idle_seconds=5) as batch:
        assert 2 <= len(batch) < 6
        assert batch.stopped_by == "bytes"
        batch.release()
    with Topic(cluster).drain(max_seconds=4, idle_seconds=5) as batch:
        assert (len(batch), batch.stopped_by) == (0, "time")


@pytest.mark.slow
def test_an_outage_during_a_drain_is_not_an_empty_batch() -> None:
    with EmbeddedCluster(settings=SETTINGS) as own:
        topic = Topic(own)
        topic.produce(b"a")
        assert topic.values() == [b"a"]
        draining = topic.drain(max_seconds=3, idle_seconds=2.5)
        draining._polled = partial(_stopping, [own], draining._polled)  # type: ignore[method-assign]
        with pytest.raises(OperationTimeoutError, match="do not answer"), draining:
            pytest.fail("the block of a drain that knows nothing is not entered")


def _stopping(running: list[EmbeddedCluster], polled: Any, poller: Any, timeout_ms: int) -> Any:
    """Poll, and stop the broker once it has answered a fetch; what that brought is dropped."""
    polled(poller, timeout_ms)
    if poller._consumer.has_fetched and running:
        running.pop().stop_broker(1)
    return ShareRecords()


def test_a_drain_that_no_broker_answered_is_not_an_empty_batch(cluster: EmbeddedCluster) -> None:
    early = Topic(cluster).drain(max_seconds=0.1)
    with (
        pytest.raises(OperationTimeoutError, match=r"of the share group .* were not answered within 0\.1 s"),
        early,
    ):
        pytest.fail("the block of a drain that knows nothing is not entered")
    topic = Topic(cluster)
    topic.name = "ordes"
    with pytest.raises(UnknownTopicOrPartitionError, match="No topic 'ordes'"), topic.drain():
        pytest.fail("a typo is no empty topic")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        config = {"bootstrap.servers": f"127.0.0.1:{nobody.getsockname()[1]}", "group.id": "g"}
        down = drain(cast("Any", Session()), config, topics=["t"], max_seconds=1, default_api_timeout_ms=2_000)
        with pytest.raises((OperationTimeoutError, BootstrapError)), down:
            pytest.fail("the block of a drain that knows nothing is not entered")


def test_locks_are_renewed_for_as_long_as_the_block_takes() -> None:
    clock = LeapingClock()
    with EmbeddedCluster(settings=SETTINGS, clock=clock) as own:
        topic = Topic(own)
        own.alter_group_configs(topic.group, {**GROUP, "share.record.lock.duration.ms": str(LOCK_MS)})
        topic.produce(b"a")
        draining = topic.drain(environment=Environment(clock=clock), **A_RECORD)
        with draining as batch, KafkaShareConsumer(
            bootstrap_servers=own.bootstrap_servers, group_id=topic.group
        ) as other:  # fmt: skip
            other.subscribe([topic.name])
            wait_until(other.assignment, 60)
            first_deadline = batch.deadline
            for _ in range(3):
                clock.leap(LOCK_MS * 6 // 10)
                wait_until(lambda: 1_000 * batch.deadline - clock.now_ms() > LOCK_MS / 2, 20)
            assert not other.poll(timeout=0.5), "almost two locks later it is still ours"
            assert batch.deadline >= first_deadline + 1
        assert draining.result.total.accepted == 1
        assert draining.result.total.renewed >= 2


@pytest.mark.parametrize("policy", ["warn", "raise"])
def test_lost_locks_are_counted_and_the_records_come_again(
    cluster: EmbeddedCluster, policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(cluster)
    topic.produce(b"a", b"b")
    draining = topic.drain(on_lock_lost=policy)
    expected = (
        pytest.raises(LockLostError, match="processed 2 records whose locks it lost")
        if policy == "raise"
        else nullcontext()
    )
    with expected, draining:
        rule = cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, DROP_CONNECTION, times=1)
    cluster.faults.remove(rule)
    assert rule.hits == 1
    assert "2 records" in caplog.text
    assert (draining.result.total.accepted, draining.result.total.lock_lost) == (0, 2)
    assert topic.values() == [b"a", b"b"]


def test_records_near_their_last_delivery_are_copied_or_at_least_told_of(
    cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic, letters = Topic(cluster), Topic(cluster)
    cluster.alter_group_configs(topic.group, {**GROUP, "share.delivery.count.limit": "3"})
    topic.produce(b"a")
    for delivery in (1, 2):
        with topic.drain(**A_RECORD) as batch:
            assert batch.delivery_counts.tolist() == [delivery]
            batch.release()
    assert "records at delivery 2: at 3 the brokers archive them" in caplog.text
    draining = topic.drain(dead_letter_topic=letters.name, **A_RECORD)
    with draining as batch:
        assert batch.delivery_counts.tolist() == [3]
    assert draining.result.total.dead_lettered == 1
    assert letters.values() == [b"a"]
    durable_producer._producers.clear()  # they would go on looking for a broker that is gone


BAD: list[tuple[dict[str, Any], str]] = [
    ({"max_records": 0}, "max_records=0"),
    ({"max_bytes": -1}, "max_bytes=-1"),
    ({"idle_seconds": "2"}, "idle_seconds='2'"),
    ({"max_seconds": True}, "max_seconds=True"),
    ({"on_lock_lost": "ignore"}, "'warn' or 'raise'"),
    ({"dead_letter_topic": ""}, "dead_letter_topic=''"),
    ({"backoff_seconds": 3601}, "backoff_seconds=3601: give seconds from 0 to 3600"),
    ({"backoff_seconds": -1}, "backoff_seconds=-1"),
    ({"backoff_seconds": "5"}, "backoff_seconds='5'"),
    ({"acknowledgement_mode": "implicit"}, "acknowledgement_mode='implicit'"),
    ({"auto_renew": False}, "auto_renew=False"),
    ({"value_deserializer": bytes.decode}, "hands out bytes"),
    ({"idle_second": 2}, "idle_second"),
]


@pytest.mark.parametrize(("keywords", "message"), BAD)
def test_bad_arguments_are_told_before_anything_is_connected(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        drain(cast("Any", Session()), {"bootstrap.servers": "nowhere:1", "group.id": "g"}, topics=["t"], **keywords)


def test_topics_and_session_are_checked() -> None:
    config = {"bootstrap.servers": "nowhere:1", "group.id": "g"}
    with pytest.raises(ConfigurationError, match="topics is empty"):
        drain(cast("Any", Session()), config, topics=[])
    with pytest.raises(ConfigurationError, match="list of topic names"):
        drain(cast("Any", Session()), config, topics="orders")
    with pytest.raises(ConfigurationError, match="SparkSession"):
        drain(cast("Any", None), config, topics=["orders"])


def test_records_are_named_by_tables_frames_and_tuples_and_by_nothing_else(cluster: EmbeddedCluster) -> None:
    topic = Topic(cluster)
    topic.produce(b"a", b"b", b"c")
    draining = topic.drain()
    with draining as batch:
        named = batch.table.select(["value", "offset", "topic", "partition"])
        assert batch.reject(named.slice(0, 1)) == 1
        assert batch.release(named.slice(1, 1).to_pandas()) == 1
        assert batch.release(np.array([False, True, False])) == 1
        for which, message in (
            ([(topic.name, 0, 99)], "1 of the keys"),
            ([("other", 0, 0)], "1 of the keys"),
            ([(topic.name, "x", 0)], "topic, partition and offset"),
            (pd.DataFrame({"topic": ["t"], "offset": [0]}), "without partition"),
            ([True], "mask has 1 value,"),
            ("all", "give one boolean"),
        ):
            with pytest.raises(ConfigurationError, match=message):
                batch.reject(which)
    total = draining.result.total
    assert (total.accepted, total.rejected, total.released) == (1, 1, 1)


def test_the_same_warning_about_the_group_is_given_once_however_often_it_is_drained(
    cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic(cluster)
    draining = topic.drain()
    for _ in range(2):
        with draining:
            pass
        with topic.drain():
            pass
    assert caplog.text.count(f"The share group {topic.group} has no dead-letter topic") == 1
    assert draining.result.notes, "the result has it each time"
