"""The programs of the guide to running applications."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.streams import StreamsError, UncaughtErrorResponse
from kafka_groups.testing import EmbeddedCluster
from tests.docs.blocks import ROOT, Program, programs
from tests.support.conditions import wait_until

QUICK = {
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 100,
    "group.streams.heartbeat.interval.ms": 100,
}
ENDLESS, ASYNCHRONOUS, HANDLING, TESTING = (
    each for each in programs() if each.page == ROOT / "docs" / "how-to" / "streams" / "run.md"
)
TIMEOUT_S = 110.0

pytestmark = pytest.mark.timeout(300)


def start(program: Program, servers: str, folder: Path, name: str = "application.py") -> "subprocess.Popen[str]":
    path = folder / name
    path.write_text(program.code.replace("localhost:9092", servers))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(path)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_program_counts_words_until_a_signal(tmp_path: Path) -> None:
    with EmbeddedCluster(settings=QUICK) as cluster:
        cluster.create_topic("posts", partitions=2)
        cluster.create_topic("word-counts")
        cluster.produce("posts", ["to be or not", "to be"], keys=["ann", "bob"])
        process = start(ENDLESS, cluster.bootstrap_servers, tmp_path)
        try:
            wait_until(lambda: counts(cluster) == {b"to": 2, b"be": 2, b"or": 1, b"not": 1}, TIMEOUT_S)
            process.terminate()
            _, errors = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
        assert process.returncode == 0, errors
        reader = start(ASYNCHRONOUS, cluster.bootstrap_servers, tmp_path, "reader.py")
        printed, errors = reader.communicate(timeout=TIMEOUT_S)
        assert (printed, reader.returncode) == ("2\n", 0), errors


def counts(cluster: EmbeddedCluster) -> dict[bytes | None, int]:
    """The last count of each word."""
    return {record.key: int.from_bytes(record.value or b"") for record in cluster.records("word-counts")}


def test_the_handler_replaces_workers_that_could_not_reach_a_service() -> None:
    names: dict[str, Any] = {}
    exec(HANDLING.code, names)
    unreachable, bad = StreamsError("unreachable"), StreamsError("bad")
    unreachable.__cause__, bad.__cause__ = ConnectionRefusedError(), ValueError()
    errors = (unreachable, ConnectionResetError(), bad, ValueError())
    responses = [names["again_if_unreachable"](error) for error in errors]
    assert responses == [UncaughtErrorResponse.REPLACE_WORKER] * 2 + [UncaughtErrorResponse.SHUTDOWN_CLIENT] * 2


def test_program_that_tests_an_application_ends_well(tmp_path: Path) -> None:
    process = start(TESTING, "", tmp_path)
    try:
        _, errors = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    assert process.returncode == 0, errors
