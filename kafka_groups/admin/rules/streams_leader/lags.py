"""The ends of changelogs, and how far each process is behind them."""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from kafka_groups.admin.rules.group_offsets import fetch_question
from kafka_groups.assignment import ProcessId, TaskInfo
from kafka_groups.assignment.application.states import ACTIVE_LAG, UNKNOWN_LAG
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["ChangelogEnds", "ask_for_ends", "lags_of_processes"]

SumsByTask = Mapping[TaskId, int]

_NO_OFFSET: Final = 0


@frozen
class ChangelogEnds:
    """The ends of changelogs.

    Attributes:
        sums: The sum of the ends of the changelog partitions of each task that has some; None if they are not known.
        failure: Why they are not known, or None.
    """

    sums: SumsByTask | None
    failure: KafkaGroupsError | None = None


async def ask_for_ends(
    ask: Asking, group_id: str, tasks: Mapping[TaskId, TaskInfo], new_topics: Iterable[str]
) -> ChangelogEnds:
    """Ask for the ends of changelogs. That of a source topic that is a changelog is the group's committed offset.

    Args:
        ask: Asks the brokers.
        group_id: The group.
        tasks: The tasks.
        new_topics: Topics that were just created, and are empty.
    """
    new = frozenset(new_topics)
    stateful = {task: _changelogs(info) for task, info in tasks.items() if info.is_stateful}
    try:
        found = await _ends(ask, group_id, [each for found in stateful.values() for each in found.items()], new)
    except KafkaGroupsError as error:
        # A group without lags is led all the same: tasks stay where they are (FallbackPriorTaskAssignor).
        return ChangelogEnds(None, error)
    return ChangelogEnds({task: sum(found[each] for each in partitions) for task, partitions in stateful.items()})


def _changelogs(info: TaskInfo) -> dict[TopicPartition, bool]:
    """Return the partitions of a task's changelogs, each with whether it is a source, too."""
    return {each.topic_partition: each.is_source for each in info.topic_partitions if each.is_changelog}


async def _ends(
    ask: Asking, group_id: str, changelogs: Iterable[tuple[TopicPartition, bool]], new: frozenset[str]
) -> Mapping[TopicPartition, int]:
    every = dict(changelogs)
    own = [each for each, is_source in every.items() if not is_source and each.topic not in new]
    sources = [each for each, is_source in every.items() if is_source]
    found = dict.fromkeys((each for each in every if each.topic in new), _NO_OFFSET)
    if own:
        found |= (await offsets_at(ask, own, LATEST)).checked().values
    if sources:
        found |= await _committed(ask, group_id, sources)
    return found


async def _committed(ask: Asking, group_id: str, sources: list[TopicPartition]) -> dict[TopicPartition, int]:
    fetched = (await ask(fetch_question(group_id, sources)))[group_id].checked()
    # Where nothing is committed, a task has processed nothing, so there is nothing to restore.
    return {key: _NO_OFFSET if offset is None else offset.offset for key, offset in fetched.values.items()}


def lags_of_processes(
    ends: ChangelogEnds, reports: Mapping[ProcessId, SumsByTask], stateful: Iterable[TaskId]
) -> dict[ProcessId, dict[TaskId, int]]:
    """Return how many changelog records each process lacks.

    Args:
        ends: The ends.
        reports: The offset sums that the members of each process have reported.
        stateful: The tasks with changelogs.
    """
    tasks = tuple(stateful)
    return {
        process_id: {task: _lag(sums.get(task), None if ends.sums is None else ends.sums[task]) for task in tasks}
        for process_id, sums in reports.items()
    }


def _lag(offset_sum: int | None, end: int | None) -> int:
    # ClientState.computeTaskLags: a running task lacks nothing, even if the ends are not known.
    if offset_sum == RUNNING_TASK:
        return ACTIVE_LAG
    if end is None or offset_sum == UNKNOWN_OFFSET_SUM:
        return UNKNOWN_LAG
    # Positions beyond the end are those of a topic that was made again, so they say nothing about this one.
    return end if offset_sum is None or offset_sum > end else end - offset_sum
