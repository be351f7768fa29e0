"""Racks count in the sticky assignors as they do in Kafka Streams."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.sticky_tasks import legacy_sticky_tasks, sticky_tasks
from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
from kafka_groups.types import TaskId, TopicPartition

NOW = datetime(2030, 1, 1, tzinfo=UTC)
A, B = ProcessId("a"), ProcessId("b")
STATEFUL = (TaskId("0", 0), TaskId("0", 1))
STATELESS = (TaskId("1", 0), TaskId("1", 1))


def application(tasks: tuple[TaskId, TaskId], **configs: Any) -> ApplicationState:
    """Return two processes in different racks, each of which runs the task whose partitions are in the other rack."""
    states = {
        process_id: KafkaStreamsState(
            process_id=process_id,
            consumer_client_ids=[f"{process_id}-1"],
            previous_active_tasks=[task],
            rack_id=f"rack-{process_id}",
        )
        for process_id, task in zip((A, B), tasks, strict=True)
    }
    infos = {
        tasks[0]: info(tasks[0], "rack-b"),
        tasks[1]: info(tasks[1], "rack-a"),
    }
    return ApplicationState(infos, AssignmentConfigs(**configs), NOW, lambda _lags: states)


def info(task: TaskId, rack: str) -> TaskInfo:
    source = TaskTopicPartition(
        TopicPartition("source", task.partition),
        is_source=True,
        is_changelog=False,
        find_racks=lambda _partition: frozenset({rack}),
    )
    return TaskInfo(task, is_stateful=task in STATEFUL, topic_partitions=(source,))


def active(assignments: list[KafkaStreamsAssignment]) -> list[list[TaskId]]:
    return [list(each.tasks) for each in assignments]


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_tasks_without_state_move_to_the_rack_of_what_they_read(strategy: str) -> None:
    state = application(STATELESS, rack_aware_assignment_strategy=strategy)
    moved = [[STATELESS[1]], [STATELESS[0]]]
    assert active(sticky_tasks(state, must_preserve=False)) == moved
    assert active(legacy_sticky_tasks(state, must_preserve=False)) == moved
    assert active(legacy_sticky_tasks(state, must_preserve=True)) == moved


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_they_stay_if_the_public_class_must_preserve_them_or_racks_are_not_used(strategy: str) -> None:
    state = application(STATELESS, rack_aware_assignment_strategy=strategy)
    stayed = [[STATELESS[0]], [STATELESS[1]]]
    assert active(sticky_tasks(state, must_preserve=True)) == stayed
    assert active(legacy_sticky_tasks(state, must_preserve=True, uses_racks=False)) == stayed


@pytest.mark.parametrize(("costs", "moves"), [((None, None), False), ((10, 1), True), ((1, 10), False)])
def test_tasks_with_state_move_if_traffic_costs_more_than_that(
    costs: tuple[int | None, int | None], moves: bool
) -> None:
    state = application(
        STATEFUL,
        rack_aware_assignment_strategy="min_traffic",
        rack_aware_traffic_cost=costs[0],
        rack_aware_non_overlap_cost=costs[1],
    )
    expected = [[task] for task in (reversed(STATEFUL) if moves else STATEFUL)]
    assert active(sticky_tasks(state, must_preserve=False)) == expected
    assert active(legacy_sticky_tasks(state, must_preserve=False)) == expected


def test_nothing_moves_without_a_strategy() -> None:
    state = application(STATELESS)
    assert active(sticky_tasks(state, must_preserve=False)) == [[STATELESS[0]], [STATELESS[1]]]
    assert active(legacy_sticky_tasks(state, must_preserve=False)) == [[STATELESS[0]], [STATELESS[1]]]
