"""The hard state of one streams group: a table of the last values of its records."""

from collections.abc import Iterator, MutableMapping, Set
from typing import Self, TypeVar

from attrs import define, evolve, field

from kafka_groups.broker.coordinators.groups.draft import GroupDraft, overlays, put
from kafka_groups.broker.coordinators.groups.members import name_instance
from kafka_groups.broker.coordinators.groups.streams.records import (
    NOT_VALIDATED,
    StreamsAssignment,
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupEpoch,
    StreamsGroupMemberMetadata,
    StreamsGroupMetadata,
    StreamsGroupRecord,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTargetAssignmentMetadata,
    StreamsGroupTopology,
    StreamsMember,
    StreamsTarget,
    StreamsTargetEpoch,
)
from kafka_groups.broker.coordinators.groups.streams.states import StreamsGroupState, StreamsMemberState
from kafka_groups.broker.coordinators.groups.streams.topology import StreamsTopology
from kafka_groups.types import TaskId

__all__ = ["StreamsDraft", "StreamsGroup"]

K = TypeVar("K")
V = TypeVar("V")

_NOT_REACHED = StreamsAssignment(member_epoch=0, previous_member_epoch=0)
_NOTHING = StreamsTarget()
_NOBODY: frozenset[str] = frozenset()
_FIRST_EPOCH = 1
"""Of a group that has no record of its own, and of its target assignment, which is empty."""


@define
class StreamsGroup:
    """One streams group.

    Only `replay` changes it. Two groups are equal if their hard states are equal.

    Attributes:
        metadata: The group epoch and what it was increased for, or None before the first one.
        target_epoch: The group epoch that the target assignment was computed for, or None until it was.
        topology: The topology, or None until a member has sent it.
        members: The members' descriptions of themselves.
        target: The target assignment by member.
        current: Member epochs and current tasks by member.
        instances: Member ids by instance id. This and the rest follows from the attributes above.
        active_owners: The member that has each active task, or has yet to revoke it.
        standby_owners: The members that have each standby task, or have yet to revoke it.
    """

    group_id: str
    metadata: StreamsGroupEpoch | None = None
    target_epoch: StreamsTargetEpoch | None = None
    topology: StreamsTopology | None = None
    members: MutableMapping[str, StreamsMember] = field(factory=dict)
    target: MutableMapping[str, StreamsTarget] = field(factory=dict)
    current: MutableMapping[str, StreamsAssignment] = field(factory=dict)
    instances: MutableMapping[str, str] = field(factory=dict, eq=False)
    active_owners: MutableMapping[TaskId, str] = field(factory=dict, eq=False)
    standby_owners: MutableMapping[TaskId, frozenset[str]] = field(factory=dict, eq=False)

    # ----------------------------------------------------------------------------------------- questions

    @property
    def epoch(self) -> int:
        """The group epoch."""
        return _FIRST_EPOCH if self.metadata is None else self.metadata.epoch

    @property
    def assignment_epoch(self) -> int:
        """The group epoch that the target assignment was computed for."""
        return _FIRST_EPOCH if self.target_epoch is None else self.target_epoch.epoch

    @property
    def validated_topology_epoch(self) -> int:
        """The epoch of the topology that works with the existing topics, or -1."""
        return NOT_VALIDATED if self.metadata is None else self.metadata.validated_topology_epoch

    @property
    def state(self) -> StreamsGroupState:
        """The state, with the name that StreamsGroupDescribe and ListGroups use."""
        if not self.members:
            return StreamsGroupState.DEAD if self == StreamsGroup(self.group_id) else StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.assignment_epoch < self.epoch:
            return StreamsGroupState.ASSIGNING
        is_settled = all(self._has_reached_target(member_id) for member_id in self.members)
        return StreamsGroupState.STABLE if is_settled else StreamsGroupState.RECONCILING

    def current_of(self, member_id: str) -> StreamsAssignment:
        """Return the epoch and the tasks of a member. It has no epoch yet if its first record is there alone."""
        return self.current.get(member_id, _NOT_REACHED)

    def target_of(self, member_id: str) -> StreamsTarget:
        """Return the tasks that a member will have."""
        return self.target.get(member_id, _NOTHING)

    def active_process(self, task: TaskId) -> str | None:
        """Return the process that runs a task, or None."""
        owner = self.active_owners.get(task)
        return None if owner is None else self.members[owner].process_id

    def standby_processes(self, task: TaskId) -> Set[str]:
        """Return the processes that have a task as a standby."""
        return {self.members[owner].process_id for owner in self.standby_owners.get(task, _NOBODY)}

    def _has_reached_target(self, member_id: str) -> bool:
        current = self.current_of(member_id)
        return current.state is StreamsMemberState.STABLE and current.member_epoch == self.assignment_epoch

    # ---------------------------------------------------------------------------------------- hard state

    def overlaid(self) -> Self:
        """Return a group that can be changed without this one. As long as it is used, this one must not change."""
        return evolve(self, **overlays(self, _TABLES))

    def replay(self, record: StreamsGroupRecord) -> None:
        """Apply a record to the group."""
        match record:
            case StreamsGroupCurrentMemberAssignment(_, member_id, current):
                self._own(member_id, current)
                put(self.current, member_id, current)
            case StreamsGroupTargetAssignmentMember(_, member_id, target):
                put(self.target, member_id, target)
            case StreamsGroupMemberMetadata(_, member_id, member):
                name_instance(self.instances, member_id, self.members.get(member_id), member)
                put(self.members, member_id, member)
            case StreamsGroupMetadata(_, metadata):
                self.metadata = metadata
            case StreamsGroupTargetAssignmentMetadata(_, target_epoch):
                self.target_epoch = target_epoch
            case StreamsGroupTopology(_, topology):
                self.topology = topology

    def _own(self, member_id: str, current: StreamsAssignment | None) -> None:
        before = self.current.get(member_id)
        for task in _active_of(before):
            if self.active_owners.get(task) == member_id:
                del self.active_owners[task]
        for task in _active_of(current):
            self.active_owners[task] = member_id
        self._own_standby(member_id, set(_standby_of(before)), set(_standby_of(current)))

    def _own_standby(self, member_id: str, before: set[TaskId], after: set[TaskId]) -> None:
        for task in before - after:
            put(self.standby_owners, task, (self.standby_owners.get(task, _NOBODY) - {member_id}) or None)
        for task in after - before:
            self.standby_owners[task] = self.standby_owners.get(task, _NOBODY) | {member_id}


_TABLES = ("members", "target", "current", "instances", "active_owners", "standby_owners")

StreamsDraft = GroupDraft[StreamsGroup, StreamsGroupRecord]
"""What an operation makes of a streams group."""


def _active_of(current: StreamsAssignment | None) -> Iterator[TaskId]:
    if current is not None:
        yield from current.active
        yield from current.revoking_active


def _standby_of(current: StreamsAssignment | None) -> Iterator[TaskId]:
    if current is not None:
        yield from current.standby
        yield from current.revoking_standby
