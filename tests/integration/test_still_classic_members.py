"""A member of a classic group stands still while another one joins: transactions of the others must not expire."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import attrs
import pytest
from attrs import frozen

from kafka_groups.admin import KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.streams import KafkaStreams
from kafka_groups.streams.runtime.transactional_commits import TransactionalCommits
from tests.integration.test_exactly_once_applications import sums, where_wrong
from tests.support.conditions import wait_until
from tests.support.kafka.aborted_transactions import aborted_transactions
from tests.support.members.counted_application import CountedApplication, counted
from tests.support.members.described_classic_group import described_members
from tests.support.standing_still import standing_still

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(500)]

PATIENCE_S = 120.0
SESSION_MS, TRANSACTION_MS = 30_000, 4_000
"""While a member stands still, the others wait for its session, in which several of their transactions would expire."""


FIRST = "first"


@frozen
class Instance:
    """An instance with one worker.

    Attributes:
        servers: The brokers.
        application_id: The application.
        source: Where the lines are.
        sink: Where the results go.
        has_urgent_commits: Whether a transaction that would expire is committed although the group rebalances.
        instance_id: Its group.instance.id.
    """

    servers: str
    application_id: str
    source: str
    sink: str
    has_urgent_commits: bool = True
    instance_id: str | None = None

    def made(self) -> KafkaStreams:
        """Return the instance."""
        keys = {
            "group.protocol": "classic", "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 300,
            "commit.interval.ms": 100, "producer.transaction.timeout.ms": TRANSACTION_MS,
            "processing.guarantee": "exactly_once_v2", "group.instance.id": self.instance_id,
        }  # fmt: skip
        topology = partial(counted, self.source, self.sink)
        return KafkaStreams(topology, keys, application_id=self.application_id, bootstrap_servers=self.servers)

    def run(self) -> None:
        """Run it until it is killed."""
        if not self.has_urgent_commits:
            TransactionalCommits.is_urgent = property(lambda _: False)  # type: ignore[assignment,method-assign]
        self.made().run()


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 100}) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def test_counts_are_exact_and_urgent_commits_save_transactions(
    servers: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with_urgent, without = (aborted(servers, tmp_path, has_urgent=each) for each in (True, False))
    told = f"aborting markers of a member that waits, with urgent commits: {with_urgent}, without: {without}"
    record_property("to_show", told)
    assert with_urgent < without, told


def aborted(servers: str, directory: Path, *, has_urgent: bool) -> int:
    """Let a member stand still while another one joins. Return how many aborting markers the first one has got."""
    app = CountedApplication(servers, directory, protocol="classic")
    app.write(40)
    instance = Instance(servers, app.application_id, app.source, app.sink, has_urgent)
    # A static member's transactional id is known.
    processes = [started(attrs.evolve(instance, instance_id=FIRST))]
    try:
        wait_until(lambda: shares(app) == [4], PATIENCE_S, lambda: shares(app))
        processes.append(started(instance))
        wait_until(lambda: shares(app) == [2, 2], PATIENCE_S, lambda: shares(app))
        with app.flow(), while_one_stands_still(app, processes[1], instance) as newcomer:
            wait_until(lambda: sum(shares(app)) == 4 and len(shares(app)) == 3, PATIENCE_S, lambda: shares(app))
            app.wait_for_commit()
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S)
        assert not (wrong := where_wrong(app)), wrong
        assert newcomer.error is None
        assert all(each.is_alive() for each in processes)
    finally:
        for each in processes:
            each.kill()
            each.join()
    producer_id = producer_of_first(app)
    return aborted_transactions(servers, app.transactional_partitions()[:-1], producer_id)


def producer_of_first(app: CountedApplication) -> int:
    """The producer id of the static member, which stays the same when a transaction is aborted."""
    process = uuid5(NAMESPACE_OID, f"{app.application_id}/{FIRST}")
    transactional_id = f"{app.application_id}-{process}-1"
    with KafkaAdmin(bootstrap_servers=app.servers) as admin:
        return admin.describe_transactions([transactional_id])[transactional_id].producer_id


@contextmanager
def while_one_stands_still(app: CountedApplication, process: BaseProcess, instance: Instance) -> Iterator[KafkaStreams]:
    """Stop a process, let a third member join, and continue when the group works without the stopped one."""
    app.wait_for_commit()
    before = ids(app)
    with ExitStack() as stack:
        with standing_still(process.pid or 0):
            # In this process, as another one may take longer to start than the session lasts.
            newcomer = stack.enter_context(instance.made())
            wait_until(lambda: ids(app) != before and shares(app) == [2, 2], PATIENCE_S, lambda: shares(app))
        yield newcomer


def started(instance: Instance) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=instance.run)
    process.start()
    return process


def ids(app: CountedApplication) -> set[str]:
    """The ids of members; as before while the group rebalances."""
    return {each.member_id for each in described_members(app.servers, app.application_id)}


def shares(app: CountedApplication) -> list[int]:
    return [len(each.active) for each in described_members(app.servers, app.application_id)]
