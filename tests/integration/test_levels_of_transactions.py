"""Applications that run exactly once at each level of `transaction.version`, also while it is raised.

Up to level 1, a producer keeps its epoch from one transaction to the next. From level 2 on, each transaction raises it
(KIP-890), so the epochs that leaders remember tell which kind of transactions an application has.
"""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from attrs import frozen

from kafka_groups.admin import KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.assembly import Environment
from kafka_groups.protocol.messages.update_features import UNSAFE_DOWNGRADE, UPGRADE
from kafka_groups.streams import KafkaStreams, StreamsState
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.integration.test_exactly_once_applications import stored, sums, unless_kafka_loses_markers, wrong_results
from tests.integration.test_killed_streams_applications import SHORT_SESSIONS, WORKERS, Broker, Struck
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import PARTITIONS
from tests.support.members.counted_application import CountedApplication
from tests.support.members.negotiated_cluster import NegotiatedCluster

pytestmark = pytest.mark.slow

FEATURE, V2 = "transaction.version", 2
PATIENCE_S = 60.0
RELEASES = ("4.4.0", "4.3.1", "4.2.1")
EMBEDDED = "embedded"
REAL = pytest.mark.real_kafka


def at_levels(*levels: int) -> pytest.MarkDecorator:
    """On the embedded broker and on each release of Kafka, at each of these levels."""
    embedded = [pytest.param((EMBEDDED, level), id=f"{EMBEDDED}-{level}") for level in levels]
    real = [
        pytest.param(
            (release, level), id=f"{release}-{level}", marks=[REAL, *([] if release == RELEASES[0] else [LONG])]
        )
        for release in RELEASES
        for level in levels
    ]
    return pytest.mark.parametrize("levelled", [*embedded, *real], indirect=True)


LONG = pytest.mark.long


@frozen
class Levelled:
    """A broker.

    Attributes:
        broker: Its address, and how it is restarted.
        level: The level of the feature.
    """

    broker: Broker
    level: int

    def finalise(self, level: int, kind: int = UPGRADE) -> None:
        """Set the level of the feature."""

        async def ask() -> None:
            async with NegotiatedCluster(self.broker.servers, Environment()) as cluster:
                await cluster.finalise(FEATURE, level, kind)

        asyncio.run(ask())


@pytest.fixture
def levelled(request: pytest.FixtureRequest) -> Iterator[Levelled]:
    release, level = request.param
    if release != EMBEDDED:
        request.getfixturevalue("real_kafka")
        texts = {name: str(value) for name, value in SHORT_SESSIONS.items()}
        with KafkaProcess(release, texts, features={FEATURE: level}) as kafka:
            restart = chained(kafka.kill, kafka.restart)
            yield Levelled(Broker(kafka.bootstrap_servers, restart, kafka.log_tail), level)
        return
    with EmbeddedCluster(settings=SHORT_SESSIONS) as cluster:
        (node,) = cluster.running_brokers
        restart = chained(lambda: cluster.stop_broker(node), lambda: cluster.start_broker(node))
        made = Levelled(Broker(cluster.bootstrap_servers, restart), level)
        made.finalise(level, UNSAFE_DOWNGRADE)
        yield made
        assert cluster.unexpected_errors == ()


def chained(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


def epochs(app: CountedApplication) -> set[tuple[int, int]]:
    """The producer ids and epochs of those that the leaders of the sink remember."""
    places = [TopicPartition(app.sink, partition) for partition in range(PARTITIONS)]
    with KafkaAdmin(bootstrap_servers=app.servers) as admin:
        found = admin.describe_producers(places).checked().values
    return {(each.producer_id, each.producer_epoch) for producers in found.values() for each in producers}


def excused(app: CountedApplication, broker: Broker) -> AbstractContextManager[None]:
    return unless_kafka_loses_markers(app, broker) if broker.is_real else nullcontext()


def wait_for_results(app: CountedApplication, running: KafkaStreams) -> None:
    wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (running.state, wrong_results(app)))
    assert wrong_results(app) == {}


def wait_for_commits(app: CountedApplication, write: Callable[[], None] = lambda: None) -> None:
    """Wait for some transactions, one after the other."""
    for _ in range(3):
        before = app.committed()
        write()
        wait_until(lambda: app.committed() > before, PATIENCE_S)  # noqa: B023 - waits here


def commit_more(app: CountedApplication, running: KafkaStreams) -> None:
    """Write lines, and wait for their results."""
    wait_for_commits(app, lambda: app.write(4))
    wait_for_results(app, running)


@at_levels(0, 1, 2)
@pytest.mark.timeout(300)
def test_results_are_exact_and_epochs_tell_the_level(levelled: Levelled, tmp_path: Path) -> None:
    app = CountedApplication(levelled.broker.servers, tmp_path)
    app.write(20)
    with app.instance().made() as running:
        wait_for_results(app, running)
        before = epochs(app)
        commit_more(app, running)
        assert (epochs(app) != before) == (levelled.level >= V2)
        wait_until(lambda: stored(running) == app.totals(), PATIENCE_S, lambda: stored(running))
    assert app.logged() == app.totals()


@at_levels(0, 1)
@pytest.mark.timeout(400)
def test_results_are_exact_when_processes_die(levelled: Levelled, tmp_path: Path) -> None:
    app = CountedApplication(levelled.broker.servers, tmp_path)
    app.write(40)
    with excused(app, levelled.broker):
        Struck(app, levelled.broker, app.instance(WORKERS).run).strike_all(random.Random(levelled.level))
        with app.instance().made() as last:
            wait_for_results(app, last)
    assert app.logged() == app.totals()


@at_levels(0, 1)
@pytest.mark.timeout(300)
def test_the_level_is_raised_while_an_application_runs(levelled: Levelled, tmp_path: Path) -> None:
    app = CountedApplication(levelled.broker.servers, tmp_path)
    app.write(20)
    with excused(app, levelled.broker), app.instance().made() as running:
        wait_for_results(app, running)
        with app.flow():
            levelled.finalise(V2)
            wait_for_commits(app)
            levelled.broker.restart()  # a producer reads the level when it connects
            wait_for_commits(app)
        wait_for_results(app, running)
        before = epochs(app)
        commit_more(app, running)
        assert {each for each, _ in epochs(app)} >= {each for each, _ in before}
        assert epochs(app) != before
        assert running.state is StreamsState.RUNNING
    assert app.logged() == app.totals()
