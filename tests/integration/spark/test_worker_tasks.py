"""What a task does in its Python worker, on an embedded broker over TCP; without Spark, which adds nothing to it."""

import os
import pickle
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.result import WorkerMetrics
from kafka_groups.spark.workers.consumers import close_idle
from kafka_groups.spark.workers.share_workers import ShareWorkers
from kafka_groups.spark.workers.task_body import run_worker
from tests.support.conditions import wait_until

QUICK = {
    "group.share.min.heartbeat.interval.ms": 200,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.assignment.interval.ms": 0,
    "group.share.min.record.lock.duration.ms": 1_000,
}
LOCK_MS = 2_000
LONG_LOCK_MS = 4_000
"""Long enough for a busy machine to renew them in time: it has half of it."""
Seen = tuple[int, int]

CALLS: list[list[Seen]] = []
"""What `process` was given: partition and offset of each record, call by call. Outlives pickling, as modules do."""

CLOSED: list[object] = []


@frozen
class Process:
    """Notes down what it is given.

    Attributes:
        bad: Values that it raises on.
        takes_s: How long it takes, in seconds.
    """

    bad: frozenset[bytes] = frozenset()
    takes_s: float = 0.0

    def __call__(self, batch: ShareBatch) -> None:
        CALLS.append([(record.partition, record.offset) for record in batch])
        threading.Event().wait(self.takes_s)
        bad = self.bad.intersection(batch.to_arrow(["value"]).column(0).to_pylist())
        if bad:
            raise ValueError(f"cannot bear {sorted(bad)}")

    def close(self) -> None:
        CLOSED.append(self)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    CALLS.clear()
    CLOSED.clear()
    with EmbeddedCluster(settings=QUICK) as cluster:
        cluster.create_topic("t", 2)
        cluster.create_topic("single")
        cluster.create_topic("dlq")
        cluster.alter_group_configs(
            "g", {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LOCK_MS)}
        )
        yield cluster
        close_idle()


def produce(cluster: EmbeddedCluster, count: int, *, per_batch: int = 10, topic: str = "t") -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0, "log_level": 3})
    for number in range(count):
        producer.produce(topic, key=b"k", value=b"v%d" % number, partition=number % 2 if topic == "t" else 0)
        if number % per_batch == per_batch - 1:
            producer.flush(10)
    assert producer.flush(10) == 0


def workers(cluster: EmbeddedCluster, process: Process | None = None, **keywords: Any) -> ShareWorkers:
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "fetch.max.wait.ms": 100}
    return ShareWorkers(config, **{"topics": ["t"], "process": process or Process(), **keywords})


def drain(made: ShareWorkers, drained_ms: int = 400) -> WorkerMetrics:
    return run_worker(made.task(drained_ms), 0)


def calls_with(count: int) -> int:
    return sum(len(call) == count for call in CALLS)


def dead_letters(cluster: EmbeddedCluster, count: int) -> list[dict[str, bytes | None]]:
    """The first letters, as their headers with the value among them."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "reader", "log_level": 3})
    try:
        consumer.assign([TopicPartition("dlq", 0, OFFSET_BEGINNING)])
        return [{**_headers(message), "value": message.value()} for message in consumer.consume(count + 1, timeout=2)]
    finally:
        consumer.close()


def _headers(message: Any) -> dict[str, bytes]:
    return dict(message.headers())


def test_everything_is_accepted_and_the_consumer_is_kept_for_the_next_task(cluster: EmbeddedCluster) -> None:
    produce(cluster, 100)
    made = workers(cluster)
    first = drain(made)
    assert (first.acquired, first.accepted, first.released, first.lock_lost) == (100, 100, 0, 0)
    assert Counter(seen for call in CALLS for seen in call) == {(n % 2, n // 2): 1 for n in range(100)}
    assert (first.error, first.failed, first.max_delivery_count, first.pid) == (None, False, 1, os.getpid())
    assert first.bytes > 100 * 10
    assert first.empty_ms >= 400
    assert first.lag == 0
    connections = cluster.open_connections
    produce(cluster, 10)
    second = run_worker(pickle.loads(pickle.dumps(made.task(400))), 1)
    assert (second.accepted, second.worker) == (10, 1)
    assert second.member_id == first.member_id
    wait_until(lambda: cluster.open_connections <= connections)  # that of the question about the lag closes by and by


def test_a_task_that_ends_holds_nothing(cluster: EmbeddedCluster) -> None:
    produce(cluster, 300, topic="single")
    made = workers(cluster, topics=["single"], max_records=1, max_poll_records=10)
    first = run_worker(made.task(), 0)
    second = run_worker(made.task(), 0)
    with KafkaShareConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="g", acknowledgement_mode="explicit"
    ) as other:
        other.subscribe(["single"])
        rest: list[int] = []
        while first.accepted + second.accepted + len(rest) < 300:
            records = other.poll(5)
            assert records, f"only {len(rest)} came, and {first}, {second}"
            rest += [record.delivery_count for record in records]
            other.acknowledge_all(records)
    assert first.accepted == first.acquired > 0
    assert max(rest) <= 3


def test_an_idle_consumer_leaves_the_group_and_closes_what_the_function_opened(cluster: EmbeddedCluster) -> None:
    produce(cluster, 10)
    assert drain(workers(cluster, idle_close_seconds=0.1)).accepted == 10
    wait_until(lambda: cluster.open_connections == 0)
    wait_until(lambda: len(CLOSED) == 1)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("share-consumer-g")]


@pytest.mark.slow
def test_locks_are_renewed_while_the_function_takes_its_time(cluster: EmbeddedCluster) -> None:
    cluster.alter_group_configs("g", {"share.record.lock.duration.ms": str(LONG_LOCK_MS)})
    produce(cluster, 10)
    done = drain(workers(cluster, Process(takes_s=1.6 * LONG_LOCK_MS / 1000)))
    assert (done.acquired, done.accepted, done.lock_lost) == (10, 10, 0)
    assert done.renewed >= 2
    assert done.max_delivery_count == 1


def test_a_lost_lock_is_counted_and_the_records_come_again(cluster: EmbeddedCluster) -> None:
    cluster.alter_group_configs("g", {"share.renew.acknowledge.enable": "false"})
    produce(cluster, 2)
    slow = run_worker(workers(cluster, Process(takes_s=1.3 * LOCK_MS / 1000), max_records=1).task(), 0)
    assert slow.accepted == 0
    assert slow.lock_lost == slow.acquired > 0
    assert not slow.failed
    close_idle()
    again = drain(workers(cluster))
    assert again.accepted == 2
    assert again.max_delivery_count == 2


@pytest.mark.parametrize("on_error", [pytest.param("release", marks=pytest.mark.slow), "per_record"])
def test_only_the_bad_record_ends_as_a_dead_letter(cluster: EmbeddedCluster, on_error: str) -> None:
    produce(cluster, 30, per_batch=30)
    made = workers(
        cluster, Process(frozenset({b"v12"})), on_error=on_error, dead_letter_topic="dlq", backoff_seconds=0.2
    )
    tasks = [drain(made)]
    while tasks[-1].error is not None:
        assert len(tasks) < 10
        tasks.append(drain(made))
    assert sum(task.accepted for task in tasks) == 29
    assert sum(task.rejected for task in tasks) == 1
    assert any(task.failed for task in tasks) == (on_error == "release")
    (letter,) = dead_letters(cluster, 1)
    assert letter["value"] == b"v12"
    assert letter["__dlq.errors.offset"] == b"6"
    assert letter["__dlq.errors.delivery.count"] == b"4"
    good = Counter(seen for call in CALLS for seen in call)
    del good[0, 6]
    assert max(good.values()) <= 15, "the batch is halved until the bad record is found"


def test_the_brokers_write_dead_letters_of_what_tasks_reject(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("dlq.g", configs={"errors.deadletterqueue.group.enable": "true"})
    queue = {"errors.deadletterqueue.topic.name": "dlq.g", "errors.deadletterqueue.copy.record.enable": "true"}
    cluster.alter_group_configs("g", queue)
    produce(cluster, 30, per_batch=30)
    made = workers(cluster, Process(frozenset({b"v12"})), on_error="per_record", backoff_seconds=0.2)
    tasks = [drain(made)]
    while tasks[-1].error is not None or cluster.group("g").lag:
        assert len(tasks) < 10
        tasks.append(drain(made))
    [ended] = cluster.group("g").wait_until_dead_lettered([b"v12"])
    assert (ended.topic, ended.partition, ended.offset) == ("t", 0, 6)
    [letter] = cluster.group("g").dead_letters
    assert (letter.topic, letter.offset, letter.key, letter.value) == ("t", 6, b"k", b"v12")
    assert letter.delivery_count == ended.delivery_count


def test_a_consumer_that_cannot_go_on_is_replaced(cluster: EmbeddedCluster) -> None:
    made = workers(cluster, default_api_timeout_ms=300)
    cluster.stop_broker(1)
    failed = run_worker(made.task(), 0)
    assert failed.failed
    assert failed.error_summary.startswith("kafka_groups.errors.BootstrapError")
    cluster.start_broker(1)
    produce(cluster, 4)
    done = drain(made)
    assert done.accepted == 4
    assert done.member_id != failed.member_id


def test_an_outage_of_the_brokers_that_is_longer_than_the_api_timeout_ends_nothing(cluster: EmbeddedCluster) -> None:
    produce(cluster, 10)
    made = workers(cluster, default_api_timeout_ms=500)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_worker, made.task(3_000), 0)
        wait_until(lambda: len(CALLS) > 0)
        cluster.stop_broker(1)
        threading.Event().wait(4.0)
        assert not running.done(), "nothing comes, but nobody says that nothing is there"
        cluster.start_broker(1)
        produce(cluster, 10)
        done = running.result(60)
    assert not done.failed
    assert {seen for call in CALLS for seen in call} == {(n % 2, n // 2) for n in range(20)}


def test_what_the_function_raises_beside_exceptions_ends_the_task_and_releases(cluster: EmbeddedCluster) -> None:
    produce(cluster, 4)

    def leave(batch: ShareBatch) -> None:
        raise SystemExit(7)

    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"}
    with pytest.raises(SystemExit):
        run_worker(ShareWorkers(config, topics=["t"], process=leave).task(), 0)
    assert drain(workers(cluster)).accepted == 4


def test_what_is_worth_saying_about_the_group(cluster: EmbeddedCluster) -> None:
    cluster.alter_group_configs("g", {"share.auto.offset.reset": "latest"})
    task = workers(cluster, max_seconds=0.1).task()
    assert "share.auto.offset.reset=earliest" in " ".join(run_worker(task, 0).notes)
