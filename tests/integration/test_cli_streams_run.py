"""`kafka-groups streams run` on an embedded cluster, as users start and stop it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_groups.librdkafka.partition_reader import BEGINNING, PartitionReader
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.workers.worker_programs import free_port

COMMAND = [sys.executable, "-W", "error", "-m", "kafka_groups.cli", "streams", "run"]
PROGRAM = """
from kafka_groups import serdes
from kafka_groups.assignment import StickyTaskAssignor
from kafka_groups.streams import StreamsBuilder, Topology

class Placing(StickyTaskAssignor):
    def configure(self, configs):
        if configs["application.id"] != "shop":
            raise ValueError("for the shop alone")

STRINGS = {"key": serdes.string, "value": serdes.string}

def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("posts", **STRINGS).map_values(str.upper, value=serdes.string).to("shouts")
    return builder.build()

def numbers() -> Topology:
    builder = StreamsBuilder()
    builder.stream("posts", **STRINGS).map_values(int, value=serdes.int64).to("shouts")
    return builder.build()
"""
FAST_GROUPS = {"group.streams.heartbeat.interval.ms": 200, "group.streams.session.timeout.ms": 5_000}
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={**FAST_SETTINGS, **FAST_GROUPS}) as cluster:
        cluster.create_topic("posts", 2)
        cluster.create_topic("shouts", 1)
        yield cluster


@pytest.fixture
def start(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[Start]:
    """Starts the command in a directory with a program and a file of its configuration."""
    (tmp_path / "shop.py").write_text(PROGRAM)
    (tmp_path / "shop.properties").write_text("application.id=overridden\ncommit.interval.ms=100\n")
    environment = {**os.environ, "KAFKA_GROUPS_BOOTSTRAP_SERVERS": cluster.bootstrap_servers}
    started: list[subprocess.Popen[str]] = []

    def command(*arguments: str) -> "subprocess.Popen[str]":
        given = [*COMMAND, *arguments, "--config", "shop.properties"]
        process = subprocess.Popen(
            given, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield command
    for process in started:
        process.kill()
        process.communicate(timeout=20)


def written(cluster: EmbeddedCluster, count: int) -> set[bytes | None]:
    """The values of the first records of the output."""
    found: set[bytes | None] = set()

    def is_complete() -> bool:
        found.update(each.value for each in reader.read(10, 0.1))
        return len(found) >= count

    with PartitionReader({"bootstrap.servers": cluster.bootstrap_servers}, "reader") as reader:
        reader.assign({TopicPartition("shouts", 0): BEGINNING})
        wait_until(is_complete, 30)
    return found


def wait_for(state: str, process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == state:
            return
    pytest.fail(f"It ended before {state}: {process.communicate(timeout=20)[1]}")


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_an_application_runs_until_a_signal(cluster: EmbeddedCluster, start: Start, number: signal.Signals) -> None:
    port = free_port()
    process = start("shop:build", "--workers", "1", "-c", "application.id=shop", "--state-address", f"127.0.0.1:{port}")
    wait_for("RUNNING", process)
    cluster.produce("posts", ["a", "b"])
    assert written(cluster, 2) == {b"A", b"B"}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stores", timeout=30) as answer:
        assert json.load(answer) == {"stores": {}, "processes": []}
    process.send_signal(number)
    out, errors = process.communicate(timeout=30)
    assert out.splitlines() == ["PENDING_SHUTDOWN", "NOT_RUNNING"]
    assert (process.returncode, "Traceback" in errors) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_application_runs_in_a_classic_group_with_its_assignor(
    cluster: EmbeddedCluster, start: Start, tmp_path: Path, workers: str
) -> None:
    given = ["--workers", workers, "-c", "application.id=shop", "-c", f"state.dir={tmp_path}"]
    process = start("shop:build", "--group-protocol", "classic", "-c", "task.assignor.class=shop:Placing", *given)
    wait_for("RUNNING", process)
    cluster.produce("posts", ["a"])
    assert written(cluster, 1) == {b"A"}
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Generation 1 of group shop: member " in errors
    assert " leads group shop from generation 1 on, and assigns its tasks with shop:Placing." in errors


def workers_of(process: "subprocess.Popen[str]") -> list[int]:
    """The process ids of the workers, as the command logs them."""
    assert process.stderr is not None
    found: list[int] = []
    while len(found) < 2:
        line = process.stderr.readline()
        assert line, f"it ended with status {process.wait(20)}"
        found.extend(map(int, re.findall(r"Worker \d has process id (\d+)", line)))
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_a_worker_process_that_is_killed_is_replaced(cluster: EmbeddedCluster, start: Start, tmp_path: Path) -> None:
    process = start("shop:build", "--workers", "2", "-c", "application.id=shop", "-c", f"state.dir={tmp_path}")
    first, _ = workers_of(process)
    wait_for("RUNNING", process)
    cluster.produce("posts", ["a"])
    assert written(cluster, 1) == {b"A"}
    os.kill(first, signal.SIGKILL)
    wait_for("REBALANCING", process)
    wait_for("RUNNING", process)
    cluster.produce("posts", [*"bcdefgh"])
    assert written(cluster, 8) == {bytes([each]) for each in b"ABCDEFGH"}
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out.splitlines()) == (0, ["PENDING_SHUTDOWN", "NOT_RUNNING"])
    assert "Worker 1 died with exit status -9 and is replaced" in errors


@pytest.mark.slow
def test_workers_end_with_their_parent(start: Start, tmp_path: Path) -> None:
    process = start("shop:build", "--workers", "2", "-c", "application.id=shop", "-c", f"state.dir={tmp_path}")
    workers = workers_of(process)
    wait_for("RUNNING", process)
    process.kill()
    wait_until(lambda: not any(map(is_alive, workers)), 30)


@pytest.mark.slow
def test_an_error_in_a_worker_process_ends_the_application(
    cluster: EmbeddedCluster, start: Start, tmp_path: Path
) -> None:
    cluster.produce("posts", ["four"])
    process = start("shop:numbers", "--workers", "2", "-c", "application.id=shop", "-c", f"state.dir={tmp_path}")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out.splitlines()[-1]) == (1, "ERROR")
    assert re.search("Error: .*Worker [12] ended: .*invalid literal for int.*four", errors)


@pytest.mark.slow
def test_an_error_of_the_topology_is_the_exit_status(cluster: EmbeddedCluster, start: Start) -> None:
    cluster.produce("posts", ["four"])
    process = start("shop:numbers", "-c", "application.id=shop")
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert out.splitlines()[-1] == "ERROR"
    assert re.search("Error: .*invalid literal for int.*four", errors)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shop:build", "-c", "commit.interval.ms=soon"], "commit.interval.ms"),
        (["shop:build", "-c", "soon"], "'soon' is not of the form KEY=VALUE"),
        (["shop:build", "--workers", "0"], "--workers"),
        (
            ["shop:build", "--group-protocol", "classic", "-c", "session.timeout.ms=6000"],
            "heartbeat.interval.ms=3000 is more than a third of session.timeout.ms=6000",
        ),
        pytest.param(
            ["shop:build", "--group-protocol", "classic", "-c", "task.assignor.class=shop:Placing"],
            "configure the task assignor 'shop:Placing': ValueError: for the shop alone. Give task.assignor.class",
            marks=pytest.mark.slow,
        ),
        (["shop:build", "--probe-address", "8080"], "Invalid value '8080' for probe.address"),
        (["shop:build", "--state-address", "8080"], "address='8080': '8080' is not in the form host:port"),
    ],
)
def test_a_configuration_that_is_invalid_is_refused(start: Start, arguments: list[str], said: str) -> None:
    process = start(*arguments)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert said in " ".join(errors.split())
