"""The interface of an assignor that a user writes, and what it hears of its result (KIP-924)."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "AssignedMember",
    "AssignmentError",
    "GroupAssignment",
    "GroupSubscription",
    "MemberSubscription",
    "TaskAssignmentError",
    "TaskAssignor",
]


class TaskAssignmentError(KafkaGroupsError):
    """An assignor cannot tell the assignment now. The group keeps the one that it has, and asks again soon.

    In a classic group, all members end with this error after ten such rounds.
    """

    retriable = True


class AssignmentError(enum.Enum):
    """The mistakes that the result of an assignor may have."""

    NONE = "none"
    ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES = "an active task in several processes"
    INVALID_STANDBY_TASK = "a copy of a task without state"
    MISSING_PROCESS_ID = "a process is missing"
    UNKNOWN_PROCESS_ID = "an unknown process"
    UNKNOWN_TASK_ID = "an unknown task"


@frozen
class AssignedMember:
    """The tasks that a member of the group gets.

    Attributes:
        active_tasks: The tasks that it runs.
        standby_tasks: The tasks of which it keeps copies.
        partitions: The source partitions of its active tasks.
        user_data: The bytes of the assignment that a member of a classic group is sent; None in a streams group.
    """

    active_tasks: frozenset[TaskId]
    standby_tasks: frozenset[TaskId]
    partitions: frozenset[TopicPartition]
    user_data: bytes | None = None


@frozen
class MemberSubscription:
    """The subscription of a member of the group.

    Attributes:
        topics: The topics that it reads.
        owned_partitions: The source partitions that it has now.
        group_instance_id: The id of a static member, or None.
        generation_id: The generation or the epoch in which it is.
        rack_id: Its rack, or None.
        user_data: The bytes that a member of a classic group has sent about its state; None in a streams group.
    """

    topics: frozenset[str]
    owned_partitions: frozenset[TopicPartition]
    group_instance_id: str | None = None
    generation_id: int = -1
    rack_id: str | None = None
    user_data: bytes | None = None


@frozen
class GroupAssignment:
    """The tasks that the members of a group get.

    Attributes:
        members: By member id. Empty if the result of the assignor cannot be understood.
    """

    members: Mapping[str, AssignedMember] = field(factory=dict)


@frozen
class GroupSubscription:
    """The subscriptions of the members of a group.

    Attributes:
        members: By member id.
    """

    members: Mapping[str, MemberSubscription] = field(factory=dict)


class TaskAssignor(ABC):
    """Decides which process of an application runs which task (KIP-924). Subclass it, and write `assign`."""

    @abstractmethod
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Return the tasks of each process.

        It must not wait for anything, and return the same for the same state.

        Raises:
            TaskAssignmentError: It cannot tell now. The group keeps its assignment, and asks again soon.
        """

    def configure(self, configs: Mapping[str, object]) -> None:  # noqa: B027 - most need nothing
        """Take the configuration, before anything else.

        Args:
            configs: The configuration with which the assignor was registered. In a classic group, all keys of the
                application by their dotted names, as its user gave them; the values of secrets are `(hidden)`.
        """

    def on_assignment_computed(  # noqa: B027 - most need nothing
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        """Hear what the members get. What it raises is logged, and changes nothing.

        Args:
            assignment: What members get, by id. In a classic group, it lacks tasks that others still own. It is empty
                if the error is `UNKNOWN_PROCESS_ID` or `UNKNOWN_TASK_ID`.
            subscription: What the members have told.
            error: What is wrong with the result of `assign`. It is not used then.
        """
