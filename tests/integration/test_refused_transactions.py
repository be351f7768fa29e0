"""Applications that run exactly once, and whose transactions cannot succeed: a rival with their id, a timeout."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import InvalidTransactionTimeoutError, ProducerFencedError
from kafka_groups.streams import KafkaStreams, StreamsState
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_exactly_once_applications import sums, wrong_results
from tests.support.conditions import wait_until
from tests.support.kafka.java_word_count import SETTINGS
from tests.support.members.counted_application import CountedApplication, counted

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        kafka: KafkaProcess = request.getfixturevalue("real_kafka")
        yield kafka.bootstrap_servers
        return
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def instance(app: CountedApplication, **keys: Any) -> KafkaStreams:
    return KafkaStreams(
        partial(counted, app.source, app.sink),
        application_id=app.application_id,
        bootstrap_servers=app.servers,
        processing_guarantee="exactly_once_v2",
        **keys,
    )


def ids_of(admin: KafkaAdmin, app: CountedApplication) -> list[str]:
    found = [each.transactional_id for each in admin.list_transactions().transactions]
    return [each for each in found if each.startswith(app.application_id)]


def check_fenced(error: BaseException | None, transactional_id: str) -> None:
    """Check that an error names the id and what may be the cause."""
    assert isinstance(error, ProducerFencedError)
    told = str(error)
    assert f"The transactional id '{transactional_id}' was fenced 3 times in a row" in told
    assert "Another process may have the same process-id, for example in a copied state_dir" in told
    assert "Or transactions take longer than transaction.timeout.ms, which is 10000" in told


def check_another_continues(app: CountedApplication) -> None:
    """Check that nothing is lost or counted twice: another instance goes on."""
    with app.instance().made() as another:
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (another.state, wrong_results(app)))
        assert wrong_results(app) == {}


def test_an_id_that_somebody_else_uses_all_the_time(servers: str, tmp_path: Path) -> None:
    app = CountedApplication(servers, tmp_path)
    app.write(20)
    # With rare commits, a rival always comes before the next one.
    with KafkaAdmin(bootstrap_servers=servers) as admin, instance(app, commit_interval_ms=2_000) as running, app.flow():
        wait_until(lambda: app.committed() > 0, PATIENCE_S)
        (used,) = ids_of(admin, app)

        def is_ended() -> bool:
            admin.fence_producers([used])
            return running.state is StreamsState.ERROR

        wait_until(is_ended, PATIENCE_S, lambda: running.state)
    check_fenced(running.error, used)
    check_another_continues(app)


@pytest.mark.timeout(200)
def test_two_processes_with_copies_of_one_state_dir(servers: str, tmp_path: Path) -> None:
    app = CountedApplication(servers, tmp_path)
    app.write(20)
    with app.instance(zone="first", default_store="lmdb").made() as first:
        wait_until(lambda: sums(app) > 0, PATIENCE_S, lambda: first.state)
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    with (
        app.instance(zone="first", default_store="lmdb").made() as first,
        app.instance(zone="second", default_store="lmdb").made() as second,
        app.flow(),
    ):
        both = first, second
        wait_until(lambda: any(each.state is StreamsState.ERROR for each in both), 2 * PATIENCE_S, lambda: both)
    with KafkaAdmin(bootstrap_servers=servers) as admin:
        (used,) = ids_of(admin, app)
    check_fenced(first.error or second.error, used)
    check_another_continues(app)


def test_a_timeout_that_brokers_do_not_allow(servers: str, tmp_path: Path) -> None:
    app = CountedApplication(servers, tmp_path)
    app.write(4)
    with instance(app, producer={"transaction.timeout.ms": 900_001}) as running:
        wait_until(lambda: running.state is StreamsState.ERROR, PATIENCE_S, lambda: running.state)
    assert isinstance(running.error, InvalidTransactionTimeoutError)
    assert "900001 ms. Set transaction.timeout.ms of the producer" in str(running.error)
    assert "transaction.max.timeout.ms" in str(running.error)
    check_another_continues(app)
