"""Events that a member of a streams group reports to its application, and the ways to leave the group."""

import enum
from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "GroupMembershipOperation",
    "StatusesChanged",
    "StreamsMembershipEvent",
    "TaskInputs",
    "TasksAssigned",
    "TasksLost",
    "TasksRevoked",
    "asks_for_shutdown",
    "assigned_only",
    "is_shutdown",
]


TaskInputs = Mapping[TaskId, frozenset[TopicPartition]]
"""The partitions that tasks read."""


@frozen(eq=False)
class TasksAssigned:
    """The member owns these tasks in addition to those that it has: start them.

    Attributes:
        tasks: The tasks.
        epoch: The member's epoch. It is higher for each owner of a task than for the owner before, so you can use it to
            recognize what an owner that was paused writes too late. Only a static member that was closed and returns
            gets its tasks back in the same epoch.
        inputs: The partitions that each active task reads. Empty in streams groups, whose coordinator names only tasks.
    """

    tasks: MemberTasks
    epoch: int
    inputs: TaskInputs = field(factory=dict)


def assigned_only(event: TasksAssigned, tasks: MemberTasks) -> TasksAssigned:
    """Return an assignment of these of its tasks alone, with their inputs."""
    inputs = {task: event.inputs[task] for task in tasks.active if task in event.inputs}
    return evolve(event, tasks=tasks, inputs=inputs)


@frozen(eq=False)
class TasksRevoked:
    """The member has to give up these tasks: commit and close them, then confirm the event.

    Until then the member owns them, and no other member gets them, unless the coordinator removes the member. In that
    case a commit raises `TasksLostError`. Close the tasks and confirm the event anyway: no other event repeats them.

    Attributes:
        tasks: The tasks.
        then: The tasks that the member gets back in another role. Their stores can stay open.
    """

    tasks: MemberTasks
    then: MemberTasks = NO_TASKS


@frozen(eq=False)
class TasksLost:
    """Another member may own these tasks by now: close them without committing, then confirm the event.

    Tasks that an earlier event revoked are not included. The member rejoins when you have confirmed all events.
    """

    tasks: MemberTasks


@frozen(eq=False)
class StatusesChanged:
    """The statuses of the group have changed; there are none if nothing keeps it from working.

    Attributes:
        statuses: The statuses.
        is_final: Whether the group asks for no patience: nobody waits until missing topics are there. Only in classic
            groups.
    """

    statuses: tuple[StreamsGroupHeartbeatStatus, ...]
    is_final: bool = False


StreamsMembershipEvent = TasksAssigned | TasksRevoked | TasksLost | StatusesChanged
"""An event of a member. Each assigned task ends with exactly one event: it is revoked or lost.

A task that changes its role is revoked in one role and assigned in the other. There are no events for tasks that the
member got and lost again between two polls.
"""


def asks_for_shutdown(statuses: Iterable[StreamsGroupHeartbeatStatus]) -> bool:
    """Return whether a member has asked all members to shut down."""
    return any(status.status_code == StreamsStatus.SHUTDOWN_APPLICATION for status in statuses)


def is_shutdown(event: StreamsMembershipEvent) -> bool:
    """Return whether an event tells of that."""
    return isinstance(event, StatusesChanged) and asks_for_shutdown(event.statuses)


class GroupMembershipOperation(enum.Enum):
    """The ways in which a member that is closed leaves its group, or stays in it (KIP-1092, KIP-1284)."""

    DEFAULT = "default"
    """A dynamic member leaves. A static one remains until its session ends, so that it can return to its tasks."""
    LEAVE_GROUP = "leave group"
    """The member leaves, even if it is static."""
    REMAIN_IN_GROUP = "remain in group"
    """The member keeps its tasks until its session ends."""
