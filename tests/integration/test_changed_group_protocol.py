"""An application changes the protocol of its group, with its instances stopped: classic, streams, classic."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.streams import KafkaStreams
from tests.integration.test_exactly_once_applications import stored, sums, where_wrong
from tests.integration.test_streams_applications import FAST, Reading
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee, Protocol, keys_of
from tests.support.members.counted_application import CountedApplication, counted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 90.0
PROTOCOLS: tuple[Protocol, ...] = ("classic", "streams", "classic")
LINES = 40


@pytest.fixture(
    scope="module", params=["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.long])]
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    settings = {**FAST, "group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1_000}
    with EmbeddedCluster(settings=settings) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


@pytest.mark.parametrize("guarantee", [pytest.param(AT_LEAST_ONCE, marks=pytest.mark.long), EXACTLY_ONCE])
def test_offsets_and_state_are_those_of_before(servers: str, tmp_path: Path, guarantee: Guarantee) -> None:
    app = CountedApplication(servers, tmp_path, guarantee)
    for protocol in PROTOCOLS:
        app.write(LINES)
        reading = Reading()
        with instance(app, tmp_path / "state", protocol, reading) as running:
            wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (running.state, running.error))
            wait_until(lambda: Counter(stored(running)) == app.totals(), PATIENCE_S, lambda: stored(running))
            wait_until(lambda: app.committed() == len(app.lines), PATIENCE_S, app.committed)
        # The instance before has left in good order, and its stores on disk were whole: nothing is read again, but for
        # the marker of the last transaction.
        assert reading.reads.keys() == {0, 1}
        assert max(reading.reads.values()) <= (guarantee == EXACTLY_ONCE)
    assert app.logged() == app.totals()
    assert not (wrong := where_wrong(app)), wrong


def instance(app: CountedApplication, state_dir: Path, protocol: Protocol, reading: Reading) -> KafkaStreams:
    return KafkaStreams(
        partial(counted, app.source, app.sink), keys_of(protocol), application_id=app.application_id,
        bootstrap_servers=app.servers, processing_guarantee=app.guarantee, commit_interval_ms=100,
        default_dsl_store="lmdb", state_dir=state_dir, state_restore_listener=reading,
    )  # fmt: skip
