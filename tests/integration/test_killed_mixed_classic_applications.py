"""Three instances in one classic group, one of them in Java, are struck while records flow: counts are exact.

Releases from before streams groups are among the brokers. A seed says in which order the blows come.
"""

import multiprocessing
import random
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from attrs import define, field

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import EXACTLY_ONCE, MixedApplication, python_instance
from tests.support.kafka.mixed_topologies import expected

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]

PATIENCE_S = 60.0
PYTHONS = 2
SETTINGS = {"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "1000"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds")))


@pytest.fixture(scope="module", params=["4.4.0", "4.0.0", "3.9.1", "3.7.2"])
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaProcess]:
    with KafkaProcess(request.param, SETTINGS) as running:
        yield running


@define
class Three:
    """The instances. Those in Python are processes of their own."""

    app: MixedApplication
    kafka: KafkaProcess
    pythons: list[BaseProcess] = field(factory=list)

    def start_python(self) -> None:
        app = self.app
        names = (app.kind, app.servers, app.application_id, app.source, app.sink)
        run = partial(_run, *names)
        process = multiprocessing.get_context("spawn").Process(target=run)
        process.start()
        self.pythons.append(process)

    def kill_python(self) -> None:
        self._end_oldest(BaseProcess.kill)

    def stop_python(self) -> None:
        """End the older one in good order: it leaves the group."""
        self._end_oldest(BaseProcess.terminate)

    def _end_oldest(self, end: Callable[[BaseProcess], None]) -> None:
        process = self.pythons.pop(0)
        assert process.is_alive(), "it ended by itself"
        end(process)
        process.join()
        self.start_python()

    def kill_java(self) -> None:
        self.app.kill_java()
        self.app.start_java()

    def crash_broker(self) -> None:
        self.kafka.kill()
        self.kafka.restart()

    def end(self) -> None:
        for each in self.pythons:
            each.kill()
            each.join()
        self.app.end()


BLOWS = (Three.kill_python, Three.stop_python, Three.kill_java, Three.crash_broker, Three.kill_python)


def _run(kind: str, servers: str, application_id: str, source: str, sink: str) -> None:
    python_instance(kind, servers, application_id, source, sink, guarantee=EXACTLY_ONCE, protocol="classic").run()


def test_counts_are_exact(kafka: KafkaProcess, tmp_path: Path, seed: int, request: pytest.FixtureRequest) -> None:
    app = MixedApplication("counts", kafka.bootstrap_servers, tmp_path, EXACTLY_ONCE, protocol="classic")
    three, choose = Three(app, kafka), random.Random(seed)
    request.addfinalizer(three.end)
    app.write(40)
    for _ in range(PYTHONS):
        three.start_python()
    app.start_java()
    with app.flow():
        for strike in choose.sample(BLOWS, len(BLOWS)):
            app.wait_for_commit()
            until = len(app.lines) + choose.randrange(20)
            wait_until(lambda: len(app.lines) >= until, PATIENCE_S)  # noqa: B023 - waits here
            strike(three)
        app.wait_for_commit()
    app.wait_for_output()
    wait_until(lambda: app.changelog() == expected("counts", app.lines), PATIENCE_S)
    wait_until(lambda: app.committed() == len(app.lines), PATIENCE_S, app.committed)
    assert all(each.is_alive() for each in three.pythons)
    app.check_committed()
