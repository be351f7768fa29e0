"""An application is struck while records flow: nothing is lost, and stores equal changelogs.

Its processes and single workers are killed, it stands still for longer than its session, and its broker restarts. A
seed says in which order, and after how many lines, so that blows meet all parts of the time between two commits.
"""

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from attrs import define, frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS
from tests.support.kafka.mixed_application import MixedApplication, python_instance
from tests.support.standing_still import standing_still

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
WORKERS = 2
SESSION_MS, STALL_MS = 2_000, 4_000
SHORT_SESSIONS = {**SETTINGS, "group.streams.session.timeout.ms": SESSION_MS}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds")))


@frozen
class Broker:
    """A broker that soon forgets members that were killed, and can be restarted.

    Attributes:
        servers: Its address.
        restart: Restarts it.
        log_tail: Returns the end of its log; None for the embedded broker, which logs in this process.
    """

    servers: str
    restart: Callable[[], None]
    log_tail: Callable[[], str] | None = None

    @property
    def is_real(self) -> bool:
        """True for a Kafka."""
        return self.log_tail is not None


def cases() -> Iterator[Any]:
    """Brokers and kinds. On a real Kafka, `test_exactly_once_applications` is among the slow tests."""
    for name, kind in product(("embedded", "real"), ("words", "sessions")):
        marks = [pytest.mark.real_kafka] if name == "real" else []
        is_rare = (name, kind) != ("embedded", "words")
        yield pytest.param(name, kind, marks=[*marks, pytest.mark.long] if is_rare else marks)


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """One of each kind."""
    with running_broker(request, SHORT_SESSIONS) as made:
        yield made


@contextmanager
def running_broker(request: pytest.FixtureRequest, settings: Mapping[str, object]) -> Iterator[Broker]:
    """Run the broker that a fixture's parameter names."""
    if request.param == "embedded":
        with EmbeddedCluster(settings=settings) as cluster:
            yield Broker(cluster.bootstrap_servers, lambda: _restart(cluster))
            assert cluster.unexpected_errors == ()
    else:
        texts = {name: str(value) for name, value in settings.items()}
        with KafkaProcess(request.getfixturevalue("real_kafka").version, texts) as kafka:
            yield Broker(kafka.bootstrap_servers, lambda: _crash(kafka), kafka.log_tail)


def _restart(cluster: EmbeddedCluster) -> None:
    (node,) = cluster.running_brokers
    cluster.stop_broker(node)
    cluster.start_broker(node)


def _crash(kafka: KafkaProcess) -> None:
    """Kill a broker and start it again.

    Not in good order: while the only broker of Kafka 4.3 or 4.4 stops, a partition without a leader seems to be deleted
    to its transaction coordinator, which then completes a transaction without the markers.
    """
    kafka.kill()
    kafka.restart()


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
        python_instance(self.kind, self.servers, self.application_id, self.source, self.sink, WORKERS).run()


@define
class Struck:
    """An application whose process is started again after each blow that ends it."""

    app: MixedApplication
    broker: Broker
    run: Callable[[], None]
    process: BaseProcess | None = None

    def run_until_committed(self) -> None:
        """Let it run until it has committed more than now."""
        if self.process is None:
            self.process = multiprocessing.get_context("spawn").Process(target=self.run)
            self.process.start()
        process, before = self.process, self.app.committed()
        wait_until(lambda: self.app.committed() > before, PATIENCE_S)
        assert process.is_alive(), "it ended by itself"

    def end(self) -> None:
        """Kill the process. Its workers end with it."""
        process, self.process = self.process, None
        if process is not None:
            workers = _children(process.pid)
            process.kill()
            process.join()
            wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), PATIENCE_S)

    def kill_worker(self) -> None:
        """Kill one of its workers, which it replaces."""
        assert self.process is not None
        process = self.process.pid
        # What was committed since it was started may be another instance's, while its own workers start.
        wait_until(lambda: workers_of(process), PATIENCE_S)
        os.kill(max(workers_of(process)), signal.SIGKILL)

    def stall(self) -> None:
        """Let all of its processes stand still for longer than the session of a member."""
        assert self.process is not None
        stopped = [self.process.pid, *_children(self.process.pid)]
        clock = SystemClock()
        with standing_still(*(each for each in stopped if each is not None)):
            begun_ms = clock.now_ms()
            wait_until(lambda: clock.now_ms() - begun_ms >= STALL_MS, PATIENCE_S)

    def restart_broker(self) -> None:
        """Restart its broker."""
        self.broker.restart()

    def strike_all(
        self,
        choose: random.Random,
        more: Sequence[Callable[["Struck"], None]] = (),
        usual: Sequence[Callable[["Struck"], None]] | None = None,
    ) -> None:
        """Strike it with each of the usual blows and with more, in an order by chance, while lines are written."""
        blows = [*(BLOWS if usual is None else usual), *more]
        with ExitStack() as stack:
            stack.callback(self.end)
            stack.enter_context(self.app.flow())
            for strike in choose.sample(blows, len(blows)):
                self.run_until_committed()
                until = len(self.app.lines) + choose.randrange(20)
                wait_until(lambda: len(self.app.lines) >= until, PATIENCE_S)  # noqa: B023 - waits here
                strike(self)
            self.run_until_committed()


BLOWS = (Struck.end, Struck.kill_worker, Struck.stall, Struck.restart_broker)


def _children(process: int | None) -> list[int]:
    """The processes that any of its threads has started."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(each) for thread in threads for each in (thread / "children").read_text().split()]


def workers_of(process: int | None) -> list[int]:
    """The processes of the workers, without the one in which multiprocessing tracks resources."""
    return [each for each in _children(process) if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("broker", "kind"), [*cases()], indirect=["broker"])
def test_nothing_is_lost_by_blows(
    request: pytest.FixtureRequest, broker: Broker, tmp_path: Path, kind: str, seed: int
) -> None:
    app, choose = MixedApplication(kind, broker.servers, tmp_path), random.Random(seed)
    request.addfinalizer(app.end)
    app.write(40)
    struck = Struck(app, broker, Running(app.kind, app.servers, app.application_id, app.source, app.sink).run)
    struck.strike_all(choose)
    app.start_python()
    app.wait_until_shared()
    app.wait_for_python_store()
    app.wait_for_output()
    app.close_python()
    assert {key: result.value for key, result in app.changelog().items()} == app.values()
    app.check_committed()
