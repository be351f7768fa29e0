"""How a source runner ends: on SIGTERM, with its input, as an orphan; in each case soon, and without its locks."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from tests.unit.spark.source.sparks_calls import SETTINGS, World

ROOT = Path(__file__).parents[4]
RUNNER = [sys.executable, "-m", "tests.unit.spark.source.runner_process"]
PARENT = """
import subprocess, sys
runner = subprocess.Popen(sys.argv[1:], stdin=0, stdout=1)
print(runner.pid, flush=True)
runner.wait()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def world(cluster: EmbeddedCluster) -> World:
    world = World(cluster, partitions=1)
    world.produce(range(100))
    return world


def options_of(world: World) -> str:
    return json.dumps({
        "kafka.bootstrap.servers": world.cluster.bootstrap_servers,
        "kafka.group.id": world.group,
        "subscribe": world.topic,
    })  # fmt: skip


def started(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask_for_batch(runner: "subprocess.Popen[str]") -> str:
    assert runner.stdin is not None
    assert runner.stdout is not None
    rows = "0"
    while rows == "0":
        runner.stdin.write("\n")
        runner.stdin.flush()
        rows = runner.stdout.readline().strip()
    return rows


def assert_released(world: World) -> None:
    """All records come to another member at once: long before the locks or the session time out."""
    clock = SystemClock()
    start_ms = clock.now_ms()
    with world.rival() as rival:
        assert len(rival.poll(10)) == 100
    assert clock.now_ms() - start_ms < 20_000


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_a_runner_that_is_ended_releases_its_records_and_leaves(world: World, how: str) -> None:
    with started([*RUNNER, options_of(world)]) as runner:
        assert ask_for_batch(runner) != "0"
        clock = SystemClock()
        ended_ms = clock.now_ms()
        if how == "SIGTERM":
            runner.send_signal(signal.SIGTERM)
        elif runner.stdin is not None:
            runner.stdin.close()
        assert runner.stdout is not None
        assert runner.stdout.read() == "stopped\n"
        code = runner.wait(20)
        assert clock.now_ms() - ended_ms < 20_000
    assert code == (128 + signal.SIGTERM if how == "SIGTERM" else 0)
    assert_released(world)


@pytest.mark.slow
def test_a_runner_whose_broker_is_gone_ends_all_the_same(world: World) -> None:
    with EmbeddedCluster(settings=SETTINGS) as gone:
        lost = World(gone, partitions=1)
        lost.produce(range(100))
        runner = started([*RUNNER, options_of(lost)])
        assert ask_for_batch(runner) != "0"
    with runner:
        clock = SystemClock()
        ended_ms = clock.now_ms()
        runner.send_signal(signal.SIGTERM)
        runner.wait(20)
        assert clock.now_ms() - ended_ms < 20_000


def test_an_orphan_ends_even_if_its_input_stays_open(world: World) -> None:
    with started([sys.executable, "-c", PARENT, *RUNNER, options_of(world)]) as parent:
        assert parent.stdout is not None
        runner = psutil.Process(int(parent.stdout.readline()))
        assert ask_for_batch(parent) != "0"
        parent.kill()
        runner.wait(20)
    assert_released(world)
