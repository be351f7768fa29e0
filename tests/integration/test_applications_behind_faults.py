"""An application on three brokers, whose leaders go away, with a faulty network before them, at both guarantees.

The blows of `test_killed_streams_applications` strike it, where the broker that restarts is one of three: its
partitions move to others, or nobody leads them until it is back. All the time a proxy cuts connections and delays
responses.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import attrs
import pytest
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import KafkaStreams
from kafka_groups.testing.fault_proxy import Fault, FaultAction, FaultProxy
from tests.integration.test_exactly_once_applications import (
    BROKERS,
    stored,
    sums,
    unless_kafka_loses_markers,
    where_wrong,
    wrong_results,
)
from tests.integration.test_killed_streams_applications import PATIENCE_S, SHORT_SESSIONS, WORKERS, Broker, Struck
from tests.support.conditions import wait_until
from tests.support.kafka.kafka_trio import kafka_trio
from tests.support.members.counted_application import CountedApplication

pytestmark = pytest.mark.slow

NODES = (1, 2, 3)
AWAY_MS = 2_000
SETTINGS = {**SHORT_SESSIONS, "transaction.state.log.num.partitions": 3}
REPLICATED = {"transaction.state.log.replication.factor": "3"}
FAULTS = (
    Fault(FaultAction.CUT_REQUEST, every=211),
    Fault(FaultAction.CUT_RESPONSE, every=307),
    Fault(FaultAction.DELAY_RESPONSE, every=101, delay_ms=300),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`. All but the first are for `.ci/long`."""
    if "seed" in metafunc.fixturenames:
        seeds = range(metafunc.config.getoption("--kill-seeds"))
        metafunc.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] if seed else []) for seed in seeds])


@pytest.fixture
def broker(request: pytest.FixtureRequest, seed: int) -> Iterator[Broker]:
    """Three brokers, of which `restart` takes one away for a while."""
    choose = random.Random(seed)
    if request.param == "real":
        yield request.getfixturevalue("kafka_nodes")
        return
    settings = {**SETTINGS, "default.replication.factor": choose.choice((1, 3))}
    with EmbeddedCluster(3, settings=settings) as cluster:
        restart = partial(lose_one, choose, cluster.kill_broker, cluster.start_broker)
        yield Broker(cluster.bootstrap_servers, restart)
        assert cluster.unexpected_errors == ()


@pytest.fixture(scope="module")
def kafka_nodes(real_kafka: object) -> Iterator[Broker]:
    """Three nodes of a real Kafka."""
    with kafka_trio({name: str(value) for name, value in SETTINGS.items()} | REPLICATED) as nodes:
        servers = ",".join(node.bootstrap_servers for node in nodes.values())
        choose = random.Random(0)

        def restart() -> None:
            lose_one(choose, lambda node: nodes[node].kill(), lambda node: nodes[node].restart())
            wait_until(lambda: is_replicated(servers), 2 * PATIENCE_S)

        yield Broker(servers, restart, lambda: "\n".join(node.log_tail() for node in nodes.values()))


def lose_one(choose: random.Random, kill: Callable[[int], None], start: Callable[[int], None]) -> None:
    """Take one of three nodes away for a while."""
    node, clock = choose.choice(NODES), SystemClock()
    kill(node)
    killed_ms = clock.now_ms()
    wait_until(lambda: clock.now_ms() - killed_ms >= AWAY_MS, PATIENCE_S)
    start(node)


def is_replicated(servers: str) -> bool:
    """Return whether every replica is in sync."""
    topics = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=PATIENCE_S).topics
    partitions = [partition for topic in topics.values() for partition in topic.partitions.values()]
    return all(len(partition.isrs) == len(partition.replicas) for partition in partitions)


@pytest.mark.timeout(500)
@pytest.mark.parametrize("broker", BROKERS, indirect=True)
def test_committed_results_equal_a_computation_behind_faults(broker: Broker, tmp_path: Path, seed: int) -> None:
    app = CountedApplication(broker.servers, tmp_path)
    with (
        unless_kafka_loses_markers(app, broker) if broker.is_real else nullcontext(),
        _struck(app, broker, seed) as last,
    ):
        wait_until(lambda: sums(app) >= app.totals().total(), 3 * PATIENCE_S, lambda: (last.state, _told(app)))
        assert not (wrong := where_wrong(app)), wrong
    assert app.logged() == app.totals()


@pytest.mark.timeout(500)
@pytest.mark.parametrize("broker", BROKERS, indirect=True)
def test_at_least_once_nothing_is_lost_behind_faults(broker: Broker, tmp_path: Path, seed: int) -> None:
    app = CountedApplication(broker.servers, tmp_path, "at_least_once")
    with _struck(app, broker, seed) as last:
        wait_until(lambda: Counter(app.logged()) >= app.totals(), 3 * PATIENCE_S, lambda: (last.state, _told(app)))
        wait_until(lambda: stored(last) == app.logged(), 2 * PATIENCE_S, lambda: (last.state, stored(last)))
        # A blow may leave a count in the changelog alone. Then a higher one follows in both.
        wait_until(lambda: _last_results(app) == app.logged(), PATIENCE_S, lambda: (_last_results(app), app.logged()))
    assert app.committed() == len(app.lines)


@contextmanager
def _struck(app: CountedApplication, broker: Broker, seed: int) -> Iterator[KafkaStreams]:
    """Strike an application behind a network with faults. Yields its last instance, which nothing strikes."""
    app.write(40)
    with FaultProxy(broker.servers) as proxy:
        behind = partial(attrs.evolve, servers=proxy.bootstrap_servers)
        struck = Struck(app, broker, behind(app.instance(WORKERS)).run)
        for fault in FAULTS:
            proxy.inject(fault)
        cut, restart = lambda _: proxy.cut_all(), Struck.restart_broker
        struck.strike_all(random.Random(seed), [cut, cut, restart])
        with behind(app.instance()).made() as last:
            yield last
        assert set(proxy.injected) == set(FAULTS)


def _last_results(app: CountedApplication) -> Mapping[str, int]:
    return {word: results[-1] for word, results in app.committed_results().items()}


def _told(app: CountedApplication) -> Mapping[str, object]:
    return {"wrong": wrong_results(app), "ends": app.ends(app.transactional_partitions())}
