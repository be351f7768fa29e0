"""An application on releases of Kafka without streams groups is struck: exactly once, its results equal a computation.

Produce has names of topics there, and transactions know no feature. In a classic group the application has two workers,
of which one is killed. Without a group, its one process has all tasks. The process is killed and stands still, and its
broker crashes. Or one of three brokers does, behind a network with faults.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import attrs
import pytest

from kafka_groups.streams import KafkaStreams
from kafka_groups.testing.fault_proxy import FaultProxy
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_applications_behind_faults import FAULTS, REPLICATED, is_replicated, lose_one
from tests.integration.test_exactly_once_applications import stored, sums, where_wrong, wrong_results
from tests.integration.test_killed_streams_applications import BLOWS, PATIENCE_S, WORKERS, Broker, Struck
from tests.support.conditions import wait_until
from tests.support.kafka.kafka_trio import kafka_trio
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee
from tests.support.kafka.older_kafkas import OLDER_KAFKAS
from tests.support.members.counted_application import CountedApplication

pytestmark = [pytest.mark.real_kafka, pytest.mark.long, pytest.mark.timeout(500)]

RELEASES = [pytest.param(release, marks=pytest.mark.xdist_group(kind)) for kind, release in OLDER_KAFKAS.items()]
guarantees = pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])
groups = pytest.mark.parametrize("is_alone", [False, True], ids=["classic", "alone"])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds")))


@pytest.fixture(scope="module", params=RELEASES)
def one_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with KafkaProcess(request.param) as kafka:

        def crash() -> None:
            kafka.kill()
            kafka.restart()

        yield Broker(kafka.bootstrap_servers, crash, kafka.log_tail)


@pytest.fixture(scope="module", params=RELEASES)
def three_brokers(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with kafka_trio(REPLICATED, request.param) as nodes:
        servers = ",".join(node.bootstrap_servers for node in nodes.values())
        choose = random.Random(0)

        def restart() -> None:
            lose_one(choose, lambda node: nodes[node].kill(), lambda node: nodes[node].restart())
            wait_until(lambda: is_replicated(servers), 2 * PATIENCE_S)

        yield Broker(servers, restart, lambda: "\n".join(node.log_tail() for node in nodes.values()))


@guarantees
@groups
def test_results_equal_a_computation(
    one_broker: Broker, tmp_path: Path, guarantee: Guarantee, is_alone: bool, seed: int
) -> None:
    app = _application(one_broker, tmp_path, guarantee, is_alone=is_alone)
    with _struck(app, one_broker, seed) as last:
        _check(app, last)


@guarantees
@groups
def test_results_equal_a_computation_behind_faults(
    three_brokers: Broker, tmp_path: Path, guarantee: Guarantee, is_alone: bool, seed: int
) -> None:
    app = _application(three_brokers, tmp_path, guarantee, is_alone=is_alone)
    with FaultProxy(three_brokers.servers) as proxy:
        for fault in FAULTS:
            proxy.inject(fault)
        cuts = [lambda _: proxy.cut_all()] * 2
        with _struck(app, three_brokers, seed, proxy.bootstrap_servers, cuts) as last:
            _check(app, last)
        assert set(proxy.injected) == set(FAULTS)


def _application(broker: Broker, directory: Path, guarantee: Guarantee, *, is_alone: bool) -> CountedApplication:
    return CountedApplication(broker.servers, directory, guarantee, "streams" if is_alone else "classic")


@contextmanager
def _struck(
    app: CountedApplication,
    broker: Broker,
    seed: int,
    servers: str | None = None,
    more: Sequence[Callable[[Struck], None]] = (),
) -> Iterator[KafkaStreams]:
    """Strike an application. Yields its last instance, which nothing strikes."""
    app.write(40)
    is_alone = app.protocol == "streams"  # which the brokers do not have
    instance = attrs.evolve(app.instance(), is_alone=is_alone, servers=servers or app.servers)
    struck = Struck(app, broker, attrs.evolve(instance, workers=1 if is_alone else WORKERS).run)
    blows = [blow for blow in BLOWS if not is_alone or blow is not Struck.kill_worker]
    struck.strike_all(random.Random(seed), more, blows)
    with instance.made() as last:
        yield last


def _check(app: CountedApplication, last: KafkaStreams) -> None:
    found = partial(_told, app, last)
    if app.guarantee == EXACTLY_ONCE:
        wait_until(lambda: sums(app) >= app.totals().total(), 3 * PATIENCE_S, found)
        assert not (wrong := where_wrong(app)), wrong
        assert app.logged() == app.totals()
    wait_until(lambda: Counter(app.logged()) >= app.totals(), 3 * PATIENCE_S, found)
    wait_until(lambda: stored(last) == app.logged(), 2 * PATIENCE_S, found)
    wait_until(lambda: app.committed() == len(app.lines), PATIENCE_S, found)
    assert last.error is None


def _told(app: CountedApplication, last: KafkaStreams) -> tuple[object, ...]:
    return last.state, last.error, stored(last), wrong_results(app), app.committed()
