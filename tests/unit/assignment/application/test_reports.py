"""Lags that follow from what members report."""

from datetime import UTC, datetime

import pytest

from kafka_groups.assignment.application.configs import LONGEST_LAG, AssignmentConfigs
from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.reports import input_of_streams_group, lags_from_reports
from kafka_groups.assignment.application.states import ACTIVE_LAG
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId

A, B = ProcessId("a"), ProcessId("b")
TASK, STATELESS = TaskId("0", 0), TaskId("1", 0)
TASKS = {TASK: TaskInfo(TASK, is_stateful=True), STATELESS: TaskInfo(STATELESS, is_stateful=False)}
ACCEPTABLE = 10


def lags(*members: MemberInput) -> dict[ProcessId, int]:
    found = lags_from_reports(members, TASKS, ACCEPTABLE)
    assert all(each.keys() == {TASK} for each in found.values())
    return {process_id: each[TASK] for process_id, each in found.items()}


@pytest.mark.parametrize(
    ("offsets", "ends", "lag"),
    [
        ({}, {}, ACTIVE_LAG),
        ({TASK: 95}, {TASK: 100}, ACTIVE_LAG),
        ({TASK: 50}, {}, ACTIVE_LAG),
        ({TASK: 50}, {TASK: 100}, 50),
    ],
    ids=["no report", "restored", "no end", "restoring"],
)
def test_an_active_task_has_everything_unless_a_report_says_that_it_is_restoring(
    offsets: dict[TaskId, int], ends: dict[TaskId, int], lag: int
) -> None:
    member = MemberInput(
        process_id=A, active_tasks=frozenset({TASK, STATELESS}), task_offsets=offsets, task_end_offsets=ends
    )
    assert lags(member) == {A: lag}


def test_the_largest_end_that_anybody_reports_counts() -> None:
    owner = MemberInput(process_id=A, active_tasks=frozenset({TASK}), task_end_offsets={TASK: 100})
    copy = MemberInput(process_id=B, task_offsets={TASK: 70}, task_end_offsets={TASK: 80})
    assert lags(owner, copy) == {A: ACTIVE_LAG, B: 30}


def test_the_fullest_copy_of_a_process_counts() -> None:
    members = [MemberInput(process_id=A, task_offsets={TASK: offset}) for offset in (70, 90)]
    assert lags(*members, MemberInput(process_id=B, task_end_offsets={TASK: 100})) == {A: 10, B: 100}


def test_without_an_end_nobody_has_caught_up_and_the_fullest_copy_lacks_the_least() -> None:
    fuller, emptier, none = lags_from_reports(
        [
            MemberInput(process_id=A, task_offsets={TASK: 70}),
            MemberInput(process_id=B, task_offsets={TASK: 60}),
            MemberInput(process_id=ProcessId("c")),
        ],
        TASKS,
        ACCEPTABLE,
    ).values()
    assert ACCEPTABLE < fuller[TASK] < emptier[TASK] < none[TASK] == LONGEST_LAG


@pytest.mark.parametrize(("offsets", "acceptable"), [({}, LONGEST_LAG), ({TASK: 0}, ACCEPTABLE)])
def test_without_any_report_every_process_counts_as_caught_up(offsets: dict[TaskId, int], acceptable: int) -> None:
    given = input_of_streams_group(
        {"m": MemberInput(process_id=A, task_offsets=offsets)},
        TASKS,
        AssignmentConfigs(acceptable_recovery_lag=ACCEPTABLE),
        datetime(2030, 1, 1, tzinfo=UTC),
    )
    assert given.configs.acceptable_recovery_lag == acceptable
    assert given.lags() == {A: {TASK: LONGEST_LAG}}
