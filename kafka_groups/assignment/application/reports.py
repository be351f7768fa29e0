"""The lags of tasks, as far as they follow from what the members of a streams group report (KIP-1071)."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from attrs import evolve

from kafka_groups.assignment.application.configs import LONGEST_LAG, AssignmentConfigs
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ACTIVE_LAG
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId

__all__ = ["has_reports", "input_of_streams_group", "lags_from_reports"]


def has_reports(members: Iterable[MemberInput]) -> bool:
    """Return whether any member has reported offsets of tasks. Those of Java do not, up to 4.3.1."""
    return any(each.task_offsets for each in members)


def input_of_streams_group(
    members: Mapping[str, MemberInput], tasks: Mapping[TaskId, TaskInfo], configs: AssignmentConfigs, now: datetime
) -> ApplicationInput:
    """Return the input of an assignment with lags from reports.

    If there are no reports, every process counts as caught up: otherwise, warm-ups would never end.

    Args:
        members: The members, by id, with their reports.
        tasks: The tasks.
        configs: The configuration of the group.
        now: The time.
    """
    # Without reports, no process would ever be known to have caught up. With this lag everybody has, and tasks move at
    # once, as `sticky` moves them.
    if not has_reports(members.values()):
        configs = evolve(configs, acceptable_recovery_lag=LONGEST_LAG)
    acceptable_lag = configs.acceptable_recovery_lag
    return ApplicationInput(
        members=members,
        tasks=tasks,
        configs=configs,
        now=now,
        lags=lambda: lags_from_reports(members.values(), tasks, acceptable_lag),
    )


def lags_from_reports(
    members: Iterable[MemberInput], tasks: Mapping[TaskId, TaskInfo], acceptable_lag: int
) -> dict[ProcessId, dict[TaskId, int]]:
    """Return how many changelog records each process lacks, for each task with a changelog.

    An active task has everything, unless a report shows that its state is still being restored. The end of a changelog
    is the largest that anybody has reported. Where nobody has, no process counts as caught up, and the fullest copy
    lacks the least.

    Args:
        members: The members, with their reports.
        tasks: The tasks.
        acceptable_lag: How many records an active task may lack so that it counts as restored.
    """
    known = list(members)
    stateful = [task for task, info in tasks.items() if info.is_stateful]
    ends = _largest(each.task_end_offsets for each in known)
    by_process: dict[ProcessId, list[MemberInput]] = {}
    for member in known:
        by_process.setdefault(member.process_id, []).append(member)
    return {process_id: _lags(found, stateful, ends, acceptable_lag) for process_id, found in by_process.items()}


def _lags(
    members: list[MemberInput], stateful: Iterable[TaskId], ends: Mapping[TaskId, int], acceptable_lag: int
) -> dict[TaskId, int]:
    offsets = _largest(each.task_offsets for each in members)
    active = frozenset().union(*(each.active_tasks for each in members))
    lags = {task: _lag(offsets.get(task), ends.get(task)) for task in stateful}
    # In a classic group a member says itself that a task is running (offset sum -2, Task.LATEST_OFFSET). In a streams
    # group it follows from the assignment: an active task runs, unless the report shows that it is still restoring.
    for task in active & lags.keys():
        if task not in offsets or task not in ends or lags[task] <= acceptable_lag:
            lags[task] = ACTIVE_LAG
    return lags


def _lag(offset: int | None, end: int | None) -> int:
    # KIP-1071, "Using cumulative task changelog offsets and cumulative task changelog end offsets": without a known end
    # nobody is caught up, but the copy with the highest offset is still the best one.
    if end is None:
        return LONGEST_LAG - max(0, offset or 0)
    # Offsets may be reported after the end was, so the difference can be negative.
    return max(0, end - max(0, offset or 0))


def _largest(reports: Iterable[Mapping[TaskId, int]]) -> dict[TaskId, int]:
    largest: dict[TaskId, int] = {}
    for report in reports:
        for task, offset in report.items():
            # Members that share a directory may report the same task at different times: KIP-1071, "Cumulative task
            # changelog offsets". It takes the most recent report. Positions grow as long as the state is kept, so the
            # largest is as good.
            largest[task] = max(offset, largest.get(task, 0))
    return largest
