"""Tasks of streams groups, as the coordinator keeps them and as requests and records list them."""

from collections.abc import Iterable, Mapping, Set
from itertools import groupby
from operator import itemgetter

from attrs import frozen

from kafka_groups.errors import InvalidRequestError
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafka_groups.protocol.messages.streams_group_parts import TaskIds, TaskOffset
from kafka_groups.types import TaskId

__all__ = [
    "OwnedTasks",
    "TaskOffsets",
    "Tasks",
    "by_subtopology",
    "listed_offsets",
    "listed_tasks",
    "owned_tasks",
    "task_set",
]

Tasks = frozenset[TaskId]
TaskOffsets = Mapping[TaskId, int]


@frozen
class OwnedTasks:
    """The tasks that a member reports as owned: all that it has not revoked yet."""

    active: Tasks = frozenset()
    standby: Tasks = frozenset()
    warmup: Tasks = frozenset()


def owned_tasks(request: StreamsGroupHeartbeatRequest) -> OwnedTasks | None:
    """Return the tasks that a heartbeat reports as owned, or None if it reports none of the lists.

    Raises:
        InvalidRequestError: Some of the lists are missing.
    """
    active, standby, warmup = request.active_tasks, request.standby_tasks, request.warmup_tasks
    # Null means that the tasks have not changed since the last heartbeat. A mixture is rejected, because revocations
    # can be confirmed only if it is known what the member owns in every role
    # (throwIfStreamsGroupHeartbeatRequestIsInvalid in Kafka).
    if active is None and standby is None and warmup is None:
        return None
    if active is None or standby is None or warmup is None:
        raise InvalidRequestError("ActiveTasks, StandbyTasks and WarmupTasks must be given together.")
    return OwnedTasks(task_set(active), task_set(standby), task_set(warmup))


def task_set(listed: Iterable[TaskIds]) -> Tasks:
    """Return listed tasks as a set."""
    return frozenset(TaskId(each.subtopology_id, partition) for each in listed for partition in each.partitions)


def by_subtopology(tasks: Iterable[TaskId]) -> dict[str, list[int]]:
    """Return tasks by sub-topology, all sorted."""
    grouped = groupby(sorted(tasks), key=itemgetter(0))
    return {subtopology_id: [partition for _, partition in each] for subtopology_id, each in grouped}


def listed_tasks(tasks: Set[TaskId]) -> tuple[TaskIds, ...]:
    """Return tasks as messages list them."""
    return tuple(TaskIds(subtopology_id=s, partitions=tuple(p)) for s, p in by_subtopology(tasks).items())


def listed_offsets(offsets: TaskOffsets) -> tuple[TaskOffset, ...]:
    """Return offsets of tasks as messages list them."""
    return tuple(TaskOffset(subtopology_id=s, partition=p, offset=offset) for (s, p), offset in sorted(offsets.items()))
