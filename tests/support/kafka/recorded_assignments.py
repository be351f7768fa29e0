"""What a Java assignor in a classic group of Kafka Streams has seen and returned, and the same assignor in Python."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentConfigs,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    ProcessId,
    TaskAssignment,
    TaskInfo,
    TaskTopicPartition,
)
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["RecordedAssignment", "recorded_assignments", "sticky_up_to_twice_the_threads"]


@frozen
class RecordedAssignment:
    """One assignment.

    Attributes:
        state: What the assignor saw.
        given: The active tasks that it gave to each process.
    """

    state: ApplicationState
    given: Mapping[ProcessId, frozenset[TaskId]]


def sticky_up_to_twice_the_threads(state: ApplicationState) -> TaskAssignment:
    """The same as RecordingAssignor.java."""
    processes = state.kafka_streams_states(compute_task_lags=True)
    given = {id_: KafkaStreamsAssignment.of(id_) for id_ in processes}
    left = []
    for task in state.all_tasks:
        room = [id_ for id_, each in processes.items() if len(given[id_].tasks) < 2 * each.num_processing_threads]
        owner = next((id_ for id_ in room if task in processes[id_].previous_active_tasks), None)
        if owner is None:
            left.append(task)
        else:
            given[owner].assign_task(AssignedTask.active(task))
    for task in left:
        least = min(processes, key=lambda id_: len(given[id_].tasks) / processes[id_].num_processing_threads)
        given[least].assign_task(AssignedTask.active(task))
    return TaskAssignment(given.values())


def recorded_assignments(file: Path) -> Iterator[RecordedAssignment]:
    """Read what the Java assignor has written."""
    for line in file.read_text().splitlines():
        yield _recorded(json.loads(line))


def _recorded(line: Mapping[str, Any]) -> RecordedAssignment:
    tasks = {TaskId.parse(each["id"]): _task(each) for each in line["tasks"]}
    states = {ProcessId(each["id"]): _process(each) for each in line["processes"]}
    now = datetime(2030, 1, 1, tzinfo=UTC)
    given = {ProcessId(id_): frozenset(map(TaskId.parse, words)) for id_, words in line["given"].items()}
    return RecordedAssignment(ApplicationState(tasks, AssignmentConfigs(), now, lambda _has_lags: states), given)


def _task(task: Mapping[str, Any]) -> TaskInfo:
    partitions = tuple(
        TaskTopicPartition(TopicPartition(each["topic"], each["partition"]), each["source"], each["changelog"])
        for each in task["partitions"]
    )
    return TaskInfo(TaskId.parse(task["id"]), task["stateful"], frozenset(task["stores"]), partitions)


def _process(process: Mapping[str, Any]) -> KafkaStreamsState:
    return KafkaStreamsState(
        process_id=ProcessId(process["id"]),
        consumer_client_ids=process["clients"],
        previous_active_tasks=map(TaskId.parse, process["active"]),
        previous_standby_tasks=map(TaskId.parse, process["standby"]),
        lags={TaskId.parse(task): lag for task, lag in process["lags"].items()},
    )
