"""What a member of a streams group reports to its application, and how an application leaves."""

import enum

from attrs import frozen

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus
from kafka_groups.streams.tasks import NO_TASKS, TaskAssignment

__all__ = [
    "GroupMembershipOperation",
    "StatusesChanged",
    "StreamsMembershipEvent",
    "TasksAssigned",
    "TasksLost",
    "TasksRevoked",
]


@frozen(eq=False)
class TasksAssigned:
    """The member owns these tasks in addition to those that it has: start them.

    Attributes:
        tasks: The tasks.
        epoch: The member's epoch. It grows from one owner of a task to the next, and so tells what an owner that was
            paused writes too late from what its successor writes. Only a static member that was closed gets its tasks
            back in the same epoch.
    """

    tasks: TaskAssignment
    epoch: int


@frozen(eq=False)
class TasksRevoked:
    """The member has to give up these tasks: commit and close them, then confirm the event.

    Until then they are the member's, and nobody else gets them, unless the coordinator removes the member meanwhile. A
    commit raises `TasksLostError` then. Close the tasks and confirm the event all the same: no other event repeats
    them.

    Attributes:
        tasks: The tasks.
        then: Those that the member gets back in another role: their stores can stay open.
    """

    tasks: TaskAssignment
    then: TaskAssignment = NO_TASKS


@frozen(eq=False)
class TasksLost:
    """These tasks may be another member's by now: close them without committing, then confirm the event.

    Tasks that an earlier event revoked are not among them. The member rejoins when you have confirmed all events.
    """

    tasks: TaskAssignment


@frozen(eq=False)
class StatusesChanged:
    """The statuses of the group have changed; there are none if nothing keeps it from working."""

    statuses: tuple[StreamsGroupHeartbeatStatus, ...]


StreamsMembershipEvent = TasksAssigned | TasksRevoked | TasksLost | StatusesChanged
"""What happened. Each task that was assigned ends by exactly one event: it is revoked or lost.

A task that changes its role is revoked in one role and assigned in the other. You hear nothing of tasks that the member
got and lost again between two polls.
"""


class GroupMembershipOperation(enum.Enum):
    """What a member that is closed says to its group (KIP-1092, KIP-1284)."""

    DEFAULT = "default"
    """A dynamic member leaves. A static one remains until its session ends, so that it can return to its tasks."""
    LEAVE_GROUP = "leave group"
    """The member leaves, even if it is static."""
    REMAIN_IN_GROUP = "remain in group"
    """The member keeps its tasks until its session ends."""
