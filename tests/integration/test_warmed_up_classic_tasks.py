"""A newcomer to a classic group lacks too much of a changelog: it gets a copy, and the task when it has caught up."""

from functools import partial
from pathlib import Path

import pytest

from kafka_groups.streams import KafkaStreams
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TaskId, TopicPartition
from tests.integration.test_exactly_once_applications import sums, where_wrong
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import PARTITIONS
from tests.support.members.counted_application import STORE, CountedApplication, counted
from tests.support.members.described_classic_group import DescribedMember, described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(500)]

PATIENCE_S = 90.0
LINES, LAG, PROBING_MS = 40, 100, 60_000
KEYS = {
    "group.protocol": "classic", "heartbeat.interval.ms": 300, "commit.interval.ms": 100,
    "acceptable.recovery.lag": LAG, "probing.rebalance.interval.ms": PROBING_MS,
}  # fmt: skip
COUNTING = {TaskId("1", 0), TaskId("1", 1)}


def instance(app: CountedApplication) -> KafkaStreams:
    return KafkaStreams(
        partial(counted, app.source, app.sink), KEYS, application_id=app.application_id, bootstrap_servers=app.servers,
        processing_guarantee=app.guarantee,
    )  # fmt: skip


def shortest_changelog(app: CountedApplication) -> int:
    topic = f"{app.application_id}-{STORE}-changelog"
    ends = app.ends(TopicPartition(topic, partition) for partition in range(PARTITIONS))
    return min(committed for committed, _ in ends.values())


def newcomer(app: CountedApplication, first: DescribedMember) -> DescribedMember | None:
    """The other member than the first one; None while the group rebalances."""
    others = [
        each for each in described_members(app.servers, app.application_id) if each.process_id != first.process_id
    ]
    return others[0] if others else None


def test_the_former_owner_processes_until_the_newcomer_has_caught_up(real_kafka: KafkaProcess, tmp_path: Path) -> None:
    app = CountedApplication(real_kafka.bootstrap_servers, tmp_path, protocol="classic")
    app.write(LINES)
    with instance(app) as older:
        wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (older.state, older.error))
        with app.flow():  # each commit adds a record for each word
            wait_until(lambda: shortest_changelog(app) > 3 * LAG, PATIENCE_S, lambda: shortest_changelog(app))
        [first] = described_members(app.servers, app.application_id)
        with instance(app) as newer:
            wait_until(lambda: newcomer(app, first) is not None, PATIENCE_S)
            warming = newcomer(app, first)
            assert warming is not None
            assert warming.standby
            assert warming.standby <= COUNTING
            assert not warming.active & COUNTING
            moved = False
            with app.flow():
                while not moved:
                    before = app.committed()
                    now = newcomer(app, first)
                    moved = now is not None and bool(now.active & warming.standby)
                    # All lines are processed meanwhile, of whichever task.
                    wait_until(lambda: app.committed() > before, PATIENCE_S)  # noqa: B023 - waits here
            wait_until(lambda: sums(app) >= app.totals().total(), PATIENCE_S, lambda: (newer.state, newer.error))
        assert not (wrong := where_wrong(app)), wrong
        assert app.logged() == app.totals()
