"""Workers while the sink is down, on an embedded broker over TCP, without Spark."""

import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.result import WorkerMetrics
from kafka_groups.spark.workers.consumers import close_idle
from kafka_groups.spark.workers.share_workers import ShareWorkers
from kafka_groups.spark.workers.task_body import WorkerTask, run_worker
from tests.integration.spark.test_worker_tasks import LOCK_MS, QUICK, produce
from tests.support.conditions import wait_until

_RECORDS = 200


class Sink:
    """Where records are stored, if it is up."""

    def __init__(self) -> None:
        self.is_up = False
        self.tries = 0
        self.stored: set[tuple[int, int]] = set()


SINK = Sink()
"""Outlives pickling, as modules do."""


def store(batch: ShareBatch) -> None:
    SINK.tries += 1
    if not SINK.is_up:
        raise ConnectionError("the sink is down")
    SINK.stored |= {(record.partition, record.offset) for record in batch}


@pytest.fixture(params=[*(pytest.param(limit, marks=pytest.mark.slow) for limit in (5, 3)), 2])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    SINK.__init__()  # type: ignore[misc]
    with EmbeddedCluster(settings=QUICK) as cluster:
        cluster.create_topic("t", 2)
        cluster.alter_group_configs(
            "g",
            {
                "share.auto.offset.reset": "earliest",
                "share.record.lock.duration.ms": str(LOCK_MS),
                "share.delivery.count.limit": str(request.param),
            },
        )
        produce(cluster, _RECORDS)
        yield cluster
        close_idle()


def workers(cluster: EmbeddedCluster, **keywords: Any) -> ShareWorkers:
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "fetch.max.wait.ms": 100}
    return ShareWorkers(config, topics=["t"], process=store, **{"backoff_seconds": 0.2, **keywords})


@contextmanager
def reporting(made: ShareWorkers, task: WorkerTask) -> Iterator[WorkerTask]:
    """The task as `run` gives it to Spark."""
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: "127.0.0.1"))
    with made._outage_server.listening(cast("Any", session)) as outages:
        yield evolve(task, outages=outages)


def in_thread(pool: ThreadPoolExecutor, task: WorkerTask) -> Future[WorkerMetrics]:
    return pool.submit(run_worker, task, 0)


@pytest.mark.parametrize(
    "on_error", ["per_record", *(pytest.param(name, marks=pytest.mark.slow) for name in ("release", "reject"))]
)
def test_an_outage_of_many_locks_and_tries_costs_no_delivery(cluster: EmbeddedCluster, on_error: str) -> None:
    made = workers(cluster, on_error=on_error)
    with reporting(made, made.task(800)) as task, ThreadPoolExecutor(1) as pool:
        running = in_thread(pool, task)
        wait_until(lambda: bool(made.held) and SINK.tries >= 15)
        began_ms = SystemClock().now_ms()
        wait_until(lambda: SystemClock().now_ms() - began_ms > 2.5 * LOCK_MS)
        (held,) = made.held
        assert 1 <= held.held <= 20
        assert held.failures >= 5
        assert "the sink is down" in held.error
        wait_until(lambda: made.held != (held,))  # the figures move
        SINK.is_up = True
        done = running.result(60)
        assert made.held == ()
    assert SINK.stored == {(number % 2, number // 2) for number in range(_RECORDS)}
    assert (done.accepted, done.released, done.rejected, done.lock_lost) == (_RECORDS, 0, 0, 0)
    assert done.max_delivery_count == 1
    assert not done.failed


def test_workers_that_die_in_an_outage_cost_a_few_records_a_delivery(cluster: EmbeddedCluster) -> None:
    """A worker that starts during the outage holds a probe for each fetch, and not all that it could lock."""
    made = workers(cluster)
    with ThreadPoolExecutor(1) as pool:
        running = in_thread(pool, evolve(made.task(800), hold_ms=500))  # which releases at its end, as a death does
        assert running.result(60).released <= 20
        SINK.is_up = True
        assert in_thread(pool, made.task(800)).result(60).accepted == _RECORDS
    assert len(SINK.stored) == _RECORDS


def test_an_operator_ends_the_wait_at_once(cluster: EmbeddedCluster, tmp_path: Any) -> None:
    mended = tmp_path / "mended"
    made = workers(cluster, backoff_seconds=3_600, go_on_file=str(mended))
    with reporting(made, made.task(800)) as task, ThreadPoolExecutor(1) as pool:
        running = in_thread(pool, task)
        wait_until(lambda: bool(made.held) and made.held[0].failures >= 2)
        for end_wait in (made.go_on, mended.touch):
            wait_until(lambda: bool(made.held) and made.held[0].next_try > SystemClock().wall_ms() / 1000 + 0.5)
            tries = SINK.tries
            end_wait()
            wait_until(lambda before=tries: SINK.tries > before)  # type: ignore[misc]
        SINK.is_up = True
        made.go_on()
        assert running.result(60).accepted == _RECORDS


def test_a_graceful_stop_releases_what_may_come_again(cluster: EmbeddedCluster) -> None:
    made = workers(cluster)
    with reporting(made, made.task(800)) as task, ThreadPoolExecutor(1) as pool:
        running = in_thread(pool, task)
        wait_until(lambda: bool(made.held))
        made._outage_server.end()
        ended = running.result(30)
    assert ended.released == ended.acquired > 0
    SINK.is_up = True
    assert run_worker(workers(cluster).task(800), 0).accepted == _RECORDS


def test_a_driver_that_cannot_be_reached_is_no_reason_to_end(
    cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    made = workers(cluster)
    with reporting(made, made.task(800)) as task, ThreadPoolExecutor(1) as pool:
        assert task.outages is not None
        running = in_thread(pool, evolve(task, outages=evolve(task.outages, port=1)))
        wait_until(lambda: SINK.tries > 5)
        SINK.is_up = True
        assert running.result(60).accepted == _RECORDS
    assert caplog.text.count("cannot learn what this worker holds") == 1


def test_a_stranger_is_not_answered(cluster: EmbeddedCluster) -> None:
    made = workers(cluster)
    with reporting(made, made.task()) as task:
        assert task.outages is not None
        with socket.create_connection((task.outages.host, task.outages.port), 5) as stranger:
            stranger.sendall(b'{"token": "guess", "worker": 0, "held": 1}\n')
            assert stranger.makefile("rb").read() == b""
        assert made.held == ()
        assert task.outages.token not in repr(task)
