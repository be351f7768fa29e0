"""Applications with static members: one that is closed and comes back gets its tasks, and no other task moves."""

from collections.abc import Mapping, Set
from contextlib import ExitStack

import pytest

from kafka_groups import KafkaAdmin
from kafka_groups.streams import KafkaStreams
from kafka_groups.testing import EmbeddedCluster
from tests.integration.test_streams_applications import FAST, word_count
from tests.support.conditions import wait_until

PARTITIONS = 4
SETTINGS = {**FAST, "group.streams.max.session.timeout.ms": 60_000, "group.streams.session.timeout.ms": 60_000}
"""The session of a closed member does not expire within the test."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_a_restart_of_a_static_process_moves_no_task() -> None:
    with EmbeddedCluster(settings=SETTINGS) as cluster, ExitStack() as stack:
        cluster.create_topic("posts", PARTITIONS)
        admin = stack.enter_context(KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers))

        def started(name: str) -> KafkaStreams:
            app = KafkaStreams(
                word_count("posts"),
                application_id="words",
                bootstrap_servers=cluster.bootstrap_servers,
                group_instance_id=name,
                commit_interval_ms=100,
            )
            return stack.enter_context(app)

        def tasks() -> dict[str | None, Mapping[str, Set[int]]]:
            members = admin.describe_streams_groups(["words"])["words"].members
            return {each.instance_id: each.assignment.active for each in members}

        def is_divided() -> bool:
            found = [each for active in tasks().values() for each in active.values()]
            return [len(each) for each in found] == [PARTITIONS // 2] * 4

        started("words-0").wait_until_running(30)
        second = started("words-1")
        wait_until(is_divided, 30)
        before = tasks()
        assert set(before) == {"words-0-1", "words-1-1"}
        second.close()
        assert tasks() == before
        started("words-1").wait_until_running(30)
        assert tasks() == before
