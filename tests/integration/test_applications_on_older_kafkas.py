"""An application on releases of Kafka without streams groups is struck: exactly once, its results equal a computation.

Its one process has all tasks and all commits: what is tested is its data plane, with Produce and Fetch by names of
topics and transactions that know no feature. The process is killed and stands still, and its broker crashes. Or one of
three brokers does, behind a network with faults.
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
from tests.integration.test_killed_streams_applications import PATIENCE_S, Broker, Struck
from tests.support.conditions import wait_until
from tests.support.kafka.kafka_trio import kafka_trio
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee
from tests.support.kafka.older_kafkas import OLDER_KAFKAS
from tests.support.members.counted_application import CountedApplication, CountedInstance

pytestmark = [pytest.mark.real_kafka, pytest.mark.long, pytest.mark.timeout(500)]

RELEASES = [pytest.param(release, marks=pytest.mark.xdist_group(kind)) for kind, release in OLDER_KAFKAS.items()]
BLOWS = (Struck.end, Struck.stall, Struck.restart_broker)
guarantees = pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])


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
def test_results_equal_a_computation(one_broker: Broker, tmp_path: Path, guarantee: Guarantee, seed: int) -> None:
    app = CountedApplication(one_broker.servers, tmp_path, guarantee)
    with _struck(app, one_broker, seed) as last:
        _check(app, last)


@guarantees
def test_results_equal_a_computation_behind_faults(
    three_brokers: Broker, tmp_path: Path, guarantee: Guarantee, seed: int
) -> None:
    app = CountedApplication(three_brokers.servers, tmp_path, guarantee)
    with FaultProxy(three_brokers.servers) as proxy:
        for fault in FAULTS:
            proxy.inject(fault)
        cuts = [lambda _: proxy.cut_all()] * 2
        with _struck(app, three_brokers, seed, proxy.bootstrap_servers, cuts) as last:
            _check(app, last)
        assert set(proxy.injected) == set(FAULTS)


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
    instance = _alone(app, servers)
    struck = Struck(app, broker, instance.run)
    struck.strike_all(random.Random(seed), more, BLOWS)
    with instance.made() as last:
        yield last


def _alone(app: CountedApplication, servers: str | None) -> CountedInstance:
    return attrs.evolve(app.instance(), is_alone=True, servers=servers or app.servers)


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
