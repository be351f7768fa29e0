"""The assignment of a round in which the assignor cannot tell: members keep what they have."""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve

from kafka_groups.admin.rules.streams_leader.hand_over import HandedOver, Inputs, readers_of
from kafka_groups.admin.rules.streams_leader.subscriptions import LedMember, Subscriptions
from kafka_groups.assignment import AssignedMember, ProcessId, TaskInfo
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["MOST_KEPT", "as_handed_over", "kept_tasks", "pause_after_ms"]

MOST_KEPT: Final = 10
"""The rounds in a row in which members keep their tasks. After that, all members get an error."""

_LONGEST_PAUSE_MS: Final = 30_000


def pause_after_ms(pause_ms: int, times: int) -> int:
    """Return the time until the next round.

    Args:
        pause_ms: The first one (`retry.backoff.max.ms`).
        times: How many rounds in a row the assignor could not tell before this one.
    """
    return min(pause_ms << times, _LONGEST_PAUSE_MS)


def kept_tasks(
    subscriptions: Subscriptions, tasks: Mapping[TaskId, TaskInfo], inputs: Inputs, most_copies: int
) -> dict[str, AssignedMember]:
    """Return what each member has: its tasks, and copies that it has reported. What nobody owns, nobody gets.

    Args:
        subscriptions: The members.
        tasks: The tasks.
        inputs: The partitions that each task reads.
        most_copies: The most copies of a task (`num.standby.replicas`).
    """
    owners = dict(_owners(subscriptions, inputs))
    active: dict[str, set[TaskId]] = {member_id: set() for member_id in subscriptions.members}
    copies: dict[str, set[TaskId]] = {member_id: set() for member_id in subscriptions.members}
    for task, owner in owners.items():
        active[owner.member_id].add(task)
    for task, holders in _holders(subscriptions, owners).items():
        for member_id in holders[:most_copies] if task in tasks and tasks[task].is_stateful else ():
            copies[member_id].add(task)
    return {
        member_id: AssignedMember(
            frozenset(active[member_id]),
            frozenset(copies[member_id]),
            frozenset(partition for task in active[member_id] for partition in inputs[task]),
        )
        for member_id in subscriptions.members
    }


def _owners(subscriptions: Subscriptions, inputs: Inputs) -> Iterator[tuple[TaskId, LedMember]]:
    """Yield each task that somebody owns, with its owner."""
    readers = readers_of(inputs)
    claimed: dict[TaskId, set[TopicPartition]] = {}
    claimants: dict[TaskId, dict[str, LedMember]] = {}
    for member in subscriptions.members.values():
        for partition in member.owned_partitions & readers.keys():
            claimed.setdefault(readers[partition], set()).add(partition)
            claimants.setdefault(readers[partition], {})[member.member_id] = member
    for task, members in claimants.items():
        # A member owns a task only if nobody else owns another part of it. Of two with the same claim, one has missed
        # a generation.
        found = [each for each in members.values() if each.owned_partitions >= claimed[task]]
        if found:
            yield task, max(found, key=lambda each: (each.generation_id, each.member_id))


def _holders(subscriptions: Subscriptions, owners: Mapping[TaskId, LedMember]) -> dict[TaskId, list[str]]:
    """Return the members that have copies of tasks, the fullest first: one of each process without the task itself."""
    found: dict[TaskId, dict[ProcessId, tuple[int, str]]] = {}
    for member in subscriptions.members.values():
        for task, offset in member.task_offset_sums.items():
            if offset != RUNNING_TASK and not (task in owners and owners[task].process_id == member.process_id):
                found.setdefault(task, {})[member.process_id] = offset, member.member_id
    return {
        task: [by_process[each][1] for each in sorted(by_process, key=lambda each: (-by_process[each][0], each))]
        for task, by_process in found.items()
    }


def as_handed_over(kept: Mapping[str, AssignedMember], leader: str, next_ms: int) -> dict[str, HandedOver]:
    """Return what members get. Nobody waits for a task, and the leader joins again at a time.

    Args:
        kept: What each member has.
        leader: The leader.
        next_ms: The time, in milliseconds since the epoch.
    """
    found = {
        member_id: HandedOver(tuple(in_task_order(each.active_tasks)), tuple(in_task_order(each.standby_tasks)), None)
        for member_id, each in kept.items()
    }
    return {**found, leader: evolve(found[leader], next_rebalance_ms=next_ms)}
