"""The input and the result of a task assignor (KIP-1357): frozen values, keyed by member.

Tasks are partition numbers by subtopology id, as in the requests and records of streams groups.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Protocol

from attrs import field, frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TaskId

__all__ = [
    "DescribedSubtopology",
    "GroupAssignorConfigs",
    "GroupTaskAssignor",
    "MemberAssignment",
    "MemberAssignments",
    "OffsetsBySubtopology",
    "StreamsGroupSpec",
    "StreamsMemberSpec",
    "TaskAssignorError",
    "TasksBySubtopology",
    "TopologyDescriber",
]

TasksBySubtopology = Mapping[str, Set[int]]
"""Tasks: partition numbers by subtopology id."""

OffsetsBySubtopology = Mapping[str, Mapping[int, int]]
"""One offset per task: sums over the task's changelog partitions, by subtopology id and partition number."""


class TaskAssignorError(KafkaGroupsError):
    """A task assignor cannot compute an assignment, or has returned one that the group cannot use."""


@frozen
class GroupAssignorConfigs:
    """The group's configs that assignors may use.

    Attributes:
        num_standby_replicas: `streams.num.standby.replicas`, the number of standby tasks for each stateful task.
        rack_aware_assignment_tags: `streams.rack.aware.assignment.tags`. The built-in assignor ignores them.
    """

    num_standby_replicas: int = 0
    rack_aware_assignment_tags: tuple[str, ...] = ()


@frozen
class StreamsMemberSpec:
    """A member of a streams group, as assignors see it.

    Attributes:
        process_id: The process that the member runs in. Members of one process share its state directory.
        instance_id: The id of a static member.
        rack_id: The member's rack.
        client_tags: The member's client tags.
        active_tasks: Active tasks in the previous target assignment.
        standby_tasks: Standby tasks in the previous target assignment.
        warmup_tasks: Warm-up tasks in the previous target assignment.
        task_offsets: How far the member's local state of a task is. Includes dormant tasks: state on disk that nobody
            uses at the moment.
        task_end_offsets: The ends of the changelogs of tasks that the member owns, where it knows them.
    """

    process_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_tags: Mapping[str, str] = field(factory=dict)
    active_tasks: TasksBySubtopology = field(factory=dict)
    standby_tasks: TasksBySubtopology = field(factory=dict)
    warmup_tasks: TasksBySubtopology = field(factory=dict)
    task_offsets: OffsetsBySubtopology = field(factory=dict)
    task_end_offsets: OffsetsBySubtopology = field(factory=dict)


@frozen
class StreamsGroupSpec:
    """The group whose target assignment is computed.

    Attributes:
        members: All members, by member id.
        configs: The group's configs.
    """

    members: Mapping[str, StreamsMemberSpec]
    configs: GroupAssignorConfigs = GroupAssignorConfigs()


@frozen
class DescribedSubtopology:
    """A subtopology, as assignors see it.

    Attributes:
        max_num_input_partitions: The largest number of partitions of its input topics, which is its number of tasks.
        is_stateful: Whether its tasks have changelogs. Only stateful tasks have standby tasks.
    """

    max_num_input_partitions: int
    is_stateful: bool = False


@frozen
class TopologyDescriber:
    """The group's topology, as assignors see it.

    Attributes:
        subtopologies: All subtopologies, by subtopology id.
    """

    subtopologies: Mapping[str, DescribedSubtopology]

    def tasks(self) -> Iterator[TaskId]:
        """Yield every task."""
        for subtopology_id, described in self.subtopologies.items():
            for partition in range(described.max_num_input_partitions):
                yield TaskId(subtopology_id, partition)


@frozen
class MemberAssignment:
    """The tasks that one member is assigned.

    Attributes:
        active_tasks: Tasks that the member processes.
        standby_tasks: Tasks whose state the member keeps up to date, so that it can take over.
    """

    active_tasks: TasksBySubtopology = field(factory=dict)
    standby_tasks: TasksBySubtopology = field(factory=dict)


@frozen
class MemberAssignments:
    """The target assignment of a group.

    Attributes:
        members: The assignment of each member, by member id. A member that is missing is assigned no tasks.
    """

    members: Mapping[str, MemberAssignment]


class GroupTaskAssignor(Protocol):
    """Assigns the tasks of a streams group to its members.

    The coordinator may use one assignor for many groups, so `assign` must not keep anything between calls.
    """

    @property
    def name(self) -> str:
        """The name by which groups select this assignor (`streams.assignor.name`)."""
        ...

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        """Compute a new target assignment.

        Args:
            group: The members with their previous assignments, and the group's configs.
            topology: The tasks to assign.

        Raises:
            TaskAssignorError: There is no usable assignment. The group keeps its previous one.
        """
        ...
