"""`kafka-groups top` as a process: until Ctrl-C, until nobody reads, and for workers that run."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.cli.documents.catalogue import LINES
from kafka_groups.cli.documents.document import line_schema_of
from tests.support.conditions import wait_until
from tests.support.probe_servers import answering_status, port_of_nobody
from tests.support.worker_statuses import busy_status
from tests.support.workers.worker_brokers import embedded_broker
from tests.support.workers.worker_programs import StartedWorker, is_alive, start_worker
from tests.support.workers.worker_scenes import WorkerScene

pytestmark = pytest.mark.slow

Top = Callable[..., "subprocess.Popen[str]"]

SCHEMA = Draft202012Validator(line_schema_of(LINES["top --worker"]))


@pytest.fixture
def top() -> Iterator[Top]:
    """Starts the command."""
    started: list[subprocess.Popen[str]] = []

    def begun(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "kafka_groups.cli", "top", *arguments]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begun
    for process in started:
        process.kill()
        process.communicate(timeout=20)


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a worker, as far as the command can see."""
    with answering_status(busy_status()) as found:
        yield found


def read_lines(process: "subprocess.Popen[str]", count: int) -> Sequence[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def end_of(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The status of a process that ends now, and its standard error."""
    assert process.stderr is not None
    errors = process.stderr.read()
    return process.wait(20), errors


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_ctrl_c_ends_it_with_status_0(top: Top, address: str, form: Sequence[str]) -> None:
    process = top("--worker", address, "--interval", "0.1", *form)
    assert all(address in line or "WORKER" in line for line in read_lines(process, 2))
    process.send_signal(signal.SIGINT)
    assert end_of(process) == (0, "")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_closed_pipe_ends_it_silently(top: Top, address: str, form: Sequence[str]) -> None:
    process = top("--worker", address, "--interval", "0.1", *form)
    read_lines(process, 1)
    assert process.stdout is not None
    process.stdout.close()
    assert end_of(process) == (0, "")


def test_it_goes_on_while_workers_do_not_answer(top: Top, address: str) -> None:
    nobody = f"127.0.0.1:{port_of_nobody()}"
    process = top("--worker", nobody, "--worker", address, "--interval", "0.1", "--json")
    found = [json.loads(line) for line in read_lines(process, 6)]
    assert [each["worker"] for each in found] == [nobody, address] * 3
    assert [each["error"] is None for each in found] == [False, True] * 3
    process.send_signal(signal.SIGINT)
    assert end_of(process) == (0, "")


# -------------------------------------------------------------------------------------------- workers that run


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[StartedWorker]]:
    """Workers, which end with the test."""
    found: list[StartedWorker] = []
    yield found
    for worker in found:
        worker.process.kill()
        worker.process.wait(20)
        wait_until(lambda worker=worker: not any(map(is_alive, worker.pids)), 30)  # type: ignore[misc]


def items(top: Top, *arguments: str, status: int = 0) -> list[Any]:
    """What one look finds."""
    process = top("--once", "--json", *arguments)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (status, "")
    found = [json.loads(line) for line in out.splitlines()]
    for each in found:
        SCHEMA.validate(each)
    return found


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_that_runs_is_shown_until_it_ends(
    top: Top, started: list[StartedWorker], tmp_path: Path, processes: str
) -> None:
    with embedded_broker() as broker:
        scene = WorkerScene(broker, partitions=2)
        options = ("--processes", processes, "--probe-address", "127.0.0.1:{port}")
        worker = start_worker(scene, tmp_path, "shop:worker", *options, environment={"TIMEOUT": "", "SHUTDOWN": "0"})
        started.append(worker)
        worker.wait_until_ready()
        address = f"127.0.0.1:{worker.port}"
        scene.send(b"fine", b"held")
        wait_until(lambda: json.loads(worker.asked("/status")[1])["handlers"][0]["in_flight"]["running"] == 1, 20)
        (found,) = items(top, "--worker", address)
        assert (found["status"]["group"], found["status"]["processes"]) == (scene.group_id, int(processes))
        (handler,) = found["status"]["handlers"]
        assert (handler["topics"], handler["in_flight"]["running"]) == ([scene.name], 1)
        assert handler["fullest_window"]["oldest_offset"] == 1
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait(20)
        wait_until(lambda: worker.asked("/live")[0] == 0, 20)
        (gone,) = items(top, "--worker", address, status=1)
        assert gone["status"] is None
        assert gone["error"]["message"].startswith("cannot connect")
        assert gone["error"]["resource"] == f"worker {address}"
