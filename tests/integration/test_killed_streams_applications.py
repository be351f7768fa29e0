"""Processes of an application are killed while records flow: nothing is lost, and stores equal changelogs.

A seed says after how many lines each process is killed, so that kills meet all parts of the time between two commits.
"""

import multiprocessing
import random
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS
from tests.support.kafka.mixed_application import MixedApplication, python_instance

pytestmark = pytest.mark.slow

KILLS, PATIENCE_S = 4, 60.0
SHORT_SESSIONS = {**SETTINGS, "group.streams.session.timeout.ms": 2_000}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds")))


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that soon forgets members that were killed."""
    if request.param == "embedded":
        with EmbeddedCluster(settings=SHORT_SESSIONS) as cluster:
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()
    else:
        settings = {name: str(value) for name, value in SHORT_SESSIONS.items()}
        with KafkaProcess(request.getfixturevalue("real_kafka").version, settings) as kafka:
            yield kafka.bootstrap_servers


@frozen
class Running:
    """What a process runs."""

    kind: str
    servers: str
    application_id: str
    source: str
    sink: str

    def run(self) -> None:
        """Run it until it is killed."""
        python_instance(self.kind, self.servers, self.application_id, self.source, self.sink).run()


@contextmanager
def process(app: MixedApplication) -> Iterator[BaseProcess]:
    """A process of the application, which is killed at the end."""
    running = Running(app.kind, app.servers, app.application_id, app.source, app.sink)
    child = multiprocessing.get_context("spawn").Process(target=running.run)
    child.start()
    try:
        yield child
        assert child.is_alive(), "it ended by itself"
    finally:
        child.kill()
        child.join()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["words", "sessions"])
def test_nothing_is_lost_by_kills(
    request: pytest.FixtureRequest, servers: str, tmp_path: Path, kind: str, seed: int
) -> None:
    app, choose = MixedApplication(kind, servers, tmp_path), random.Random(seed)
    request.addfinalizer(app.end)
    app.write(40)
    with app.flow():
        for _ in range(KILLS):
            before = app.committed()
            with process(app):
                wait_until(lambda: app.committed() > before, PATIENCE_S)  # noqa: B023 - waits here
                until = len(app.lines) + choose.randrange(20)
                wait_until(lambda: len(app.lines) >= until, PATIENCE_S)  # noqa: B023
    app.start_python()
    app.wait_until_shared()
    app.wait_for_python_store()
    app.wait_for_output()
    app.close_python()
    assert {key: result.value for key, result in app.changelog().items()} == app.values()
    app.check_committed()
