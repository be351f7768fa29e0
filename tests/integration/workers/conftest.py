"""The brokers of these tests: an embedded one for each, a real Kafka for all of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker, embedded_broker, requested_broker
from tests.support.workers.worker_programs import Start, StartedWorker, is_alive, start_worker
from tests.support.workers.worker_scenes import WorkerScene


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow])])
def broker(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    """An embedded broker; in the slow tests also a real Kafka."""
    with requested_broker(request) as requested:
        yield requested


@pytest.fixture(scope="module")
def mortal_embedded() -> Iterator[WorkerBroker]:
    """An embedded broker that may be killed."""
    with embedded_broker() as embedded:
        yield embedded


@pytest.fixture
def scene(broker: WorkerBroker) -> WorkerScene:
    """A topic, a topic for dead letters, and a group with Kafka's defaults."""
    return WorkerScene(broker)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a worker in a directory of the test, or in one below it."""
    started: list[StartedWorker] = []

    def begun(scene: WorkerScene, *arguments: str, directory: str = ".", **options: object) -> StartedWorker:
        started.append(start_worker(scene, tmp_path / directory, *arguments, **options))  # type: ignore[arg-type]
        return started[-1]

    yield begun
    for worker in started:
        sys.stdout.write(worker.out + worker.log)  # pytest shows it if the test has failed
        worker.process.kill()
        worker.process.wait(20)
        wait_until(lambda worker=worker: not any(map(is_alive, worker.pids)), 30)  # type: ignore[misc]
