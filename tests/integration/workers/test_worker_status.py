"""The status of a worker that runs, in one process and in several, as a document and as a page."""

import json
import os
import signal
from typing import Any

import pytest

from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_programs import Start, StartedWorker
from tests.support.workers.worker_scenes import WorkerScene

PROBE = ("--probe-address", "127.0.0.1:{port}")


def status(worker: StartedWorker) -> Any:
    """The status."""
    code, text = worker.asked("/status")
    assert code == 200, worker.log
    return json.loads(text)


def handler(worker: StartedWorker) -> Any:
    """The status of its only handler."""
    (found,) = status(worker)["handlers"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("broker", ["embedded"], indirect=True)
def test_the_probe_tells_what_runs_and_shows_it(broker: WorkerBroker, start: Start, processes: int) -> None:
    scene = WorkerScene(broker, partitions=2)
    worker = start(scene, "shop:worker", "--processes", str(processes), *PROBE, environment={"TIMEOUT": ""})
    worker.wait_until_ready()
    for partition in (0, 1):
        scene.send(b"fine", b"held", partition=partition)
    wait_until(lambda: handler(worker)["in_flight"]["running"] == 2, 20, lambda: status(worker))
    wait_until(lambda: handler(worker)["rate"] > 0, 20, lambda: status(worker))
    found = status(worker)
    assert (found["group"], found["is_live"], found["is_ready"]) == (scene.group_id, True, True)
    assert (found["processes"], found["restarts"], found["reasons"]) == (processes, 0, [])
    window = handler(worker)["fullest_window"]
    assert (window["topic"], window["oldest_offset"]) == (scene.topic.name, 1)
    code, page = worker.asked("/")
    assert code == 200
    assert page.startswith("<!DOCTYPE html>")
    assert scene.topic.name in page
    assert "fine" not in json.dumps(found) + page


@pytest.mark.slow
@pytest.mark.parametrize("broker", ["embedded"], indirect=True)
def test_a_parent_tells_of_processes_that_die(broker: WorkerBroker, start: Start) -> None:
    scene = WorkerScene(broker, {"share.session.timeout.ms": "2000"})
    worker = start(scene, "shop:worker", "--processes", "2", *PROBE)
    worker.wait_until_ready()
    scene.send(b"held")
    wait_until(lambda: handler(worker)["in_flight"]["running"] == 1, 20, lambda: status(worker))
    (pid,) = worker.pids
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: status(worker)["restarts"] == 1, 20, lambda: status(worker))
    worker.wait_until_ready()
    wait_until(lambda: handler(worker)["in_flight"]["running"] == 0, 20, lambda: status(worker))
