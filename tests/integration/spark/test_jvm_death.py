"""When the JVM of a driver is killed, its Python processes stop acquiring, and the records come to others."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark import ShareWorkers
from kafka_groups.spark.workers.consumers import close_idle
from kafka_groups.spark.workers.task_body import run_worker
from tests.integration.spark.doomed_driver import TOPIC, Notes, SlowStore
from tests.integration.spark.test_worker_tasks import LOCK_MS, QUICK, produce
from tests.support.conditions import wait_until
from tests.support.spark.sessions import ROOT, reason_to_skip, spark_environment

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip())),
]

RECORDS = 4_000
START_S = 120.0
END_S = 30.0
"""The longest time that the processes of a killed JVM may live."""


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={**QUICK, "group.share.min.session.timeout.ms": 1_000}) as cluster:
        cluster.create_topic(TOPIC)
        cluster.alter_group_configs(
            "g", {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": str(LOCK_MS)}
        )
        produce(cluster, RECORDS, topic=TOPIC, per_batch=100)
        yield cluster
        close_idle()


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


def config_of(cluster: EmbeddedCluster) -> dict[str, object]:
    return {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "fetch.max.wait.ms": 100}


@contextmanager
def driver(what: str, cluster: EmbeddedCluster, notes: Notes) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "tests.integration.spark.doomed_driver", what]
    environment = {**os.environ, **spark_environment()}
    with notes.path.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [*command, json.dumps(config_of(cluster)), str(notes.path)], cwd=ROOT, env=environment, stderr=log
        )
    started = psutil.Process(process.pid)
    try:
        yield process
    finally:
        for left in [*started.children(recursive=True), started] if started.is_running() else []:
            left.kill()
        process.wait()


def is_daemon(process: psutil.Process) -> bool:
    try:
        return "pyspark.daemon" in process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False  # one of the JVM's short commands, which has just ended


def kill_jvm(process: "subprocess.Popen[bytes]", *, with_daemon: bool = False) -> None:
    (jvm,) = [child for child in psutil.Process(process.pid).children() if child.name() == "java"]
    daemons = [child for child in jvm.children() if is_daemon(child)]
    assert daemons or not with_daemon
    jvm.kill()
    for daemon in daemons if with_daemon else []:
        daemon.kill()


def assert_rest_comes(cluster: EmbeddedCluster, notes: Notes) -> None:
    """All that is not in the notes comes to another consumer, and what is twice in them is little."""
    before = notes.keys()
    assert len(before) < RECORDS // 2
    made = ShareWorkers(config_of(cluster), topics=[TOPIC], process=SlowStore(notes, 0.0))
    rest = run_worker(made.task(3 * LOCK_MS), 0)
    assert set(notes.keys()) == {(0, offset) for offset in range(RECORDS)}
    assert rest.max_delivery_count in {2, 3}, "some were in hand: once, or also in the worker that ended last"
    assert len(notes.keys()) - RECORDS <= 60, "two polls of each worker, and one record for each first fetch"


@pytest.mark.parametrize("with_daemon", [False, True], ids=["JVM", "JVM and Spark's daemon"])
def test_workers_stop_and_their_records_come_to_others(
    cluster: EmbeddedCluster, notes: Notes, *, with_daemon: bool
) -> None:
    with driver("workers", cluster, notes) as process:
        wait_until(lambda: len(notes.pids()) == 2 and len(notes.keys()) >= 60, START_S)
        workers = [psutil.Process(pid) for pid in notes.pids()]
        kill_jvm(process, with_daemon=with_daemon)
        _, alive = psutil.wait_procs(workers, END_S)
        for worker in alive:
            worker.kill()
        assert not alive
        assert process.wait(END_S) != 0
    assert_rest_comes(cluster, notes)


def test_a_drain_ends_and_its_records_come_to_others(cluster: EmbeddedCluster, notes: Notes) -> None:
    with driver("drain", cluster, notes) as process:
        wait_until(notes.path.with_suffix(".held").exists, START_S)
        assert cluster.group("g").in_flight
        kill_jvm(process)
        assert process.wait(END_S) != 0
        assert not cluster.group("g").in_flight
    assert "so the drain acquires no records" in notes.path.with_suffix(".log").read_text()
    assert_rest_comes(cluster, notes)
