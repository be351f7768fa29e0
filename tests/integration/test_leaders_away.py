"""Applications that start while the leader of a partition is away: each task begins once the leader is there."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.streams import StreamsState
from tests.integration.test_exactly_once_applications import sums, wrong_results
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS
from tests.support.kafka.kafka_trio import kafka_trio
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee
from tests.support.members.counted_application import STORE, CountedApplication

pytestmark = pytest.mark.slow

PATIENCE_S = 90.0
ALONE = {**SETTINGS, "default.replication.factor": 1}
INTERNAL = {"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "3"}


@frozen
class Brokers:
    """Three brokers. Each partition of an application has one replica, so that nobody leads it while that is away."""

    servers: str
    kill: Callable[[int], None]
    start: Callable[[int], None]


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def brokers(request: pytest.FixtureRequest) -> Iterator[Brokers]:
    if request.param == "embedded":
        with EmbeddedCluster(3, settings=ALONE) as cluster:
            yield Brokers(cluster.bootstrap_servers, cluster.kill_broker, cluster.start_broker)
            assert cluster.unexpected_errors == ()
        return
    request.getfixturevalue("real_kafka")
    with kafka_trio({**{name: str(value) for name, value in ALONE.items()}, **INTERNAL}) as nodes:
        servers = ",".join(node.bootstrap_servers for node in nodes.values())
        yield Brokers(servers, lambda node: nodes[node].kill(), lambda node: nodes[node].restart())


def leader_of(servers: str, topic: str) -> int:
    """The broker that leads partition 0, or -1."""
    return int(AdminClient({"bootstrap.servers": servers}).list_topics(topic).topics[topic].partitions[0].leader)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])
@pytest.mark.parametrize("has_run", [False, True], ids=["source", "changelog"])
def test_tasks_begin_once_the_leader_is_there(
    brokers: Brokers, tmp_path: Path, guarantee: Guarantee, has_run: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app = CountedApplication(brokers.servers, tmp_path, guarantee)
    app.write(40)
    away = app.source
    if has_run:  # so that there is something to restore
        with app.instance().made():
            wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: wrong_results(app))
        away = f"{app.application_id}-{STORE}-changelog"
    with app.flow():
        wait_until(lambda: len(app.lines) >= 60, PATIENCE_S)
    victim = leader_of(brokers.servers, away)
    brokers.kill(victim)
    try:
        wait_until(lambda: leader_of(brokers.servers, away) != victim, PATIENCE_S)
        caplog.set_level(logging.WARNING)
        with app.instance().made() as running:
            wait_until(lambda: "cannot begin yet" in caplog.text, PATIENCE_S, lambda: (running.state, caplog.text))
            assert running.state is not StreamsState.ERROR
            brokers.start(victim)
            victim = 0
            wait_until(lambda: running.state is StreamsState.RUNNING, PATIENCE_S, lambda: running.state)
            wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: wrong_results(app))
            # At least once, tasks that were lost meanwhile may count lines again.
            wait_until(lambda: Counter(app.logged()) >= app.totals(), PATIENCE_S, app.logged)
        if guarantee == EXACTLY_ONCE:
            assert wrong_results(app) == {}
    finally:
        if victim:
            brokers.start(victim)
