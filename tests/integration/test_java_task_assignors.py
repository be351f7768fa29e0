"""A Java assignor (KIP-924) in a classic group of Kafka Streams, and the same assignor in Python over what it saw."""

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.assignment import AssignmentError, ProcessId, validate_task_assignment
from kafka_groups.types import TaskId
from tests.support.conditions import wait_until
from tests.support.kafka.java_streams import JavaStreams
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.recorded_assignments import (
    RecordedAssignment,
    recorded_assignments,
    sticky_up_to_twice_the_threads,
)
from tests.support.members.classic_brokers import classic_brokers
from tests.support.members.confluent_reader import PATIENCE_S

__all__ = ["classic_brokers"]

PARTITIONS = 7

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


def by_python(recorded: RecordedAssignment) -> dict[ProcessId, frozenset[TaskId]]:
    """What the assignor in Python gives."""
    assignment = sticky_up_to_twice_the_threads(recorded.state)
    assert validate_task_assignment(recorded.state, assignment) is AssignmentError.NONE
    return {each.process_id: frozenset(each.tasks) for each in assignment.assignment}


def test_the_same_assignor_in_both_languages_gives_the_same(
    bootstrap_servers: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source, sink, application_id = unique("in"), unique("out"), unique("recorded")
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for topic in (source, sink):
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_S)
    file = tmp_path / "recorded"
    with JavaStreams(tmp_path_factory.mktemp("java"), streams_classpath_or_skip()) as java:

        def start(name: str, threads: int) -> None:
            java.open(
                name, source, sink, bootstrap_servers=bootstrap_servers, application_id=application_id,
                group_protocol="classic", num_stream_threads=str(threads), state_dir=str(tmp_path / name),
                session_timeout_ms="6000", heartbeat_interval_ms="200", commit_interval_ms="100",
                task_assignor_class="RecordingAssignor", recording_assignor_file=str(file),
            )  # fmt: skip

        def all_have_tasks(count: int) -> bool:
            found = list(java.state().values())
            assert not [each.error for each in found if each.error]
            return len(found) == count and all(each.state == "RUNNING" and each.tasks for each in found)

        for count, (name, threads) in enumerate([("one", 1), ("two", 2), ("three", 1)], 1):
            start(name, threads)
            wait_until(lambda: all_have_tasks(count), PATIENCE_S)  # noqa: B023 - waits here
        java.close(*java.state())
    recorded = list(recorded_assignments(file))
    assert {len(each.given) for each in recorded} == {1, 2, 3}
    assert [dict(each.given) for each in recorded] == [by_python(each) for each in recorded]
