"""Tasks change hands in two rounds: those that another member owns are left out, and their new owner joins again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from kafka_groups.admin.rules.streams_leader.subscriptions import LedMember, Subscriptions
from kafka_groups.assignment import ProcessId, TaskInfo
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["AT_ONCE", "HandedOver", "Inputs", "Target", "hand_over", "inputs_of_tasks", "readers_of"]

AT_ONCE: Final = 0
"""The time of the next rebalance for a member that waits for tasks."""

Target = Mapping[str, AssignedMember]
Inputs = Mapping[TaskId, tuple[TopicPartition, ...]]

_NOTHING: Final = AssignedMember(frozenset(), frozenset(), frozenset())


@frozen
class HandedOver:
    """The tasks of a member in this round, in the order of tasks.

    Attributes:
        active: Those that it runs.
        standby: Those of which it keeps copies.
        next_rebalance_ms: The time at which it joins again, in milliseconds since the epoch; None for never.
    """

    active: tuple[TaskId, ...]
    standby: tuple[TaskId, ...]
    next_rebalance_ms: int | None


def inputs_of_tasks(tasks: Mapping[TaskId, TaskInfo]) -> dict[TaskId, tuple[TopicPartition, ...]]:
    """Return the partitions that each task reads, sorted."""
    return {
        task: tuple(sorted(each.topic_partition for each in info.topic_partitions if each.is_source))
        for task, info in tasks.items()
    }


def readers_of(inputs: Inputs) -> dict[TopicPartition, TaskId]:
    """Return the task that reads each partition."""
    return {partition: task for task, partitions in inputs.items() for partition in partitions}


def hand_over(
    target: Target,
    subscriptions: Subscriptions,
    tasks: Mapping[TaskId, TaskInfo],
    inputs: Inputs,
    deadlines: Mapping[ProcessId, int],
) -> dict[str, HandedOver]:
    """Return what each member gets now, on the way to its target.

    Args:
        target: The tasks that members shall have in the end, by member id.
        subscriptions: The members, with the partitions that they own.
        tasks: The tasks.
        inputs: The partitions that each task reads.
        deadlines: The times at which processes want another rebalance, in milliseconds since the epoch.
    """
    claimed = frozenset[TopicPartition]().union(*(each.owned_partitions for each in subscriptions.members.values()))
    readers = readers_of(inputs)
    result: dict[str, HandedOver] = {}
    for process_id, members in subscriptions.processes.items():
        process = _Process(members, claimed, tasks, inputs, readers)
        result.update(process.hand_over(target, deadlines.get(process_id)))
    return result


class _Process:
    """The members of a process, which get their tasks together.

    Args:
        members: The members. If several claim the same partition, the last of them has it.
        claimed: All partitions that members of the group claim.
        tasks: The tasks.
        inputs: The partitions that each task reads.
        readers: The task that reads each partition.
    """

    def __init__(
        self,
        members: Sequence[LedMember],
        claimed: frozenset[TopicPartition],
        tasks: Mapping[TaskId, TaskInfo],
        inputs: Inputs,
        readers: Mapping[TopicPartition, TaskId],
    ) -> None:
        self._ids = sorted(each.member_id for each in members)
        self._owners = {partition: each.member_id for each in members for partition in each.owned_partitions}
        self._claimed, self._tasks, self._inputs = claimed, tasks, inputs
        sums = {task: offset for each in members for task, offset in each.task_offset_sums.items()}
        active = {readers[partition] for partition in self._owners if partition in readers}
        self._copies = {task for task, offset in sums.items() if offset != RUNNING_TASK} - active

    def hand_over(self, target: Target, deadline_ms: int | None) -> Iterator[tuple[str, HandedOver]]:
        """Yield what each member gets, by its id."""
        for member_id in self._ids:
            given = target.get(member_id, _NOTHING)
            kept = [task for task in given.active_tasks if not self._is_elsewhere(task, member_id)]
            waits = given.active_tasks.difference(kept)
            # A process meanwhile has as copies what it had as copies, or it would throw the state away that the tasks
            # need at once (StreamsPartitionAssignor.buildStandbyTaskMap).
            copies = given.standby_tasks | {task for task in waits & self._copies if self._tasks[task].is_stateful}
            next_ms = AT_ONCE if waits else deadline_ms
            # The first member keeps the time for its process, and nobody does if it joins again at once anyhow
            # (StreamsPartitionAssignor.addClientAssignments).
            deadline_ms = None
            yield member_id, HandedOver(tuple(in_task_order(kept)), tuple(in_task_order(copies)), next_ms)

    def _is_elsewhere(self, task: TaskId, member_id: str) -> bool:
        """Return whether another member has a partition of a task. The whole task waits for it."""
        return any(
            partition in self._claimed and self._owners.get(partition) != member_id for partition in self._inputs[task]
        )
