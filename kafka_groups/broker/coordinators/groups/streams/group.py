"""The hard state of one streams group: a table of the last values of its records."""

from collections.abc import Iterator, MutableMapping, Set

from attrs import define, field

from kafka_groups.broker.coordinators.groups.draft import GroupDraft, put
from kafka_groups.broker.coordinators.groups.epochs.group import (
    FIRST_EPOCH,
    NO_TARGET,
    EpochGroup,
    EpochGroupKind,
    MemberRecords,
    name_instance,
)
from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsAssignment,
    StreamsGroupEpoch,
    StreamsGroupRecord,
    StreamsMember,
    StreamsTarget,
)
from kafka_groups.broker.coordinators.groups.streams.states import StreamsGroupState
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMemberMetadata,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTargetAssignmentMetadata,
    StreamsGroupTopology,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import LEAVE_STATIC_EPOCH
from kafka_groups.types import TaskId

__all__ = ["StreamsDraft", "StreamsGroup"]

_NEW = StreamsGroupEpoch(FIRST_EPOCH)
_NOTHING = StreamsTarget()
_NOBODY: frozenset[str] = frozenset()


@define
class StreamsGroup(EpochGroup[StreamsGroupEpoch, StreamsMember, StreamsTarget, StreamsAssignment]):
    """One streams group.

    Attributes:
        topology: The topology, or None until a member has sent it.
        active_owners: The member that has each active task, or has yet to revoke it. It follows from `current`.
        standby_owners: The members that have each standby task, or have yet to revoke it.
    """

    KIND = EpochGroupKind(
        name="streams",
        owned="tasks",
        records=MemberRecords(
            described=StreamsGroupMemberMetadata,
            target=StreamsGroupTargetAssignmentMember,
            current=StreamsGroupCurrentMemberAssignment,
        ),
        target_epoch=StreamsGroupTargetAssignmentMetadata,
    )
    NOT_REACHED = StreamsAssignment(member_epoch=0, previous_member_epoch=0)
    TABLES = (*EpochGroup.TABLES, "active_owners", "standby_owners")

    metadata: StreamsGroupEpoch = _NEW
    topology: StreamsTopology | None = None
    active_owners: MutableMapping[TaskId, str] = field(factory=dict, eq=False)
    standby_owners: MutableMapping[TaskId, frozenset[str]] = field(factory=dict, eq=False)

    # ----------------------------------------------------------------------------------------- questions

    @property
    def validated_topology_epoch(self) -> int:
        """The epoch of the topology that works with the existing topics, or -1."""
        return self.metadata.validated_topology_epoch

    @property
    def state(self) -> StreamsGroupState:
        """The state, with the name that StreamsGroupDescribe and ListGroups use."""
        # The order of the cases is that of StreamsGroup.maybeUpdateGroupState in Kafka. There, a deleted group just is
        # not found; here the state follows from records, and a group without any is DEAD.
        if not self.members:
            return StreamsGroupState.DEAD if self == StreamsGroup(self.group_id) else StreamsGroupState.EMPTY
        # The topology was resolved when the group epoch increased, and the record has the epoch of the topology that
        # worked. NOT_READY is therefore known from records alone, also to a coordinator that has just loaded the group.
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.needs_target:
            return StreamsGroupState.ASSIGNING
        # A member that has the target assignment but waits for tasks of others is not settled: the group is stable only
        # if every member has all of its tasks (StreamsGroupMember.isReconciledTo).
        is_settled = all(self.has_reached_target(member_id) for member_id in self.members)
        return StreamsGroupState.STABLE if is_settled else StreamsGroupState.RECONCILING

    def target_of(self, member_id: str) -> StreamsTarget:
        """Return the tasks that a member will have."""
        return self.target.get(member_id, _NOTHING)

    def inheritable_target(self, member_id: str) -> StreamsTarget:
        """Return the target assignment that a static member hands on. As in Kafka, an empty one is stored, too."""
        # Kafka's replaceStreamsMember writes the target assignment of the new member id whether or not the old one had
        # a record.
        return self.target_of(member_id)

    def may_be_replaced(self, member_id: str) -> bool:
        """Return whether a static member is away."""
        # A static member that stopped without saying so with epoch -2 keeps its place until its session ends. Until
        # then the coordinator cannot know that the instance is not running twice
        # (GroupMetadataManager.throwIfInstanceIdIsUnreleased).
        return self.current_of(member_id).member_epoch == LEAVE_STATIC_EPOCH

    def active_process(self, task: TaskId) -> str | None:
        """Return the process that runs a task, or None."""
        owner = self.active_owners.get(task)
        return None if owner is None else self.members[owner].process_id

    def standby_processes(self, task: TaskId) -> Set[str]:
        """Return the processes that have a task as a standby."""
        return {self.members[owner].process_id for owner in self.standby_owners.get(task, _NOBODY)}

    # ---------------------------------------------------------------------------------------- hard state

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
                self.metadata = metadata or _NEW
            case StreamsGroupTargetAssignmentMetadata(_, target_epoch):
                self.target_epoch = target_epoch or NO_TARGET
            case StreamsGroupTopology(_, topology):
                self.topology = topology

    def _own(self, member_id: str, current: StreamsAssignment | None) -> None:
        before = self.current.get(member_id)
        for task in _active_of(before):
            # The records of a transfer may come in either order: the new owner may be noted before the record arrives
            # with which the old one gives up the task. Then the entry is already the new owner's and must stay.
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


StreamsDraft = GroupDraft[StreamsGroup, StreamsGroupRecord]
"""A streams group with the records of an operation applied."""


def _active_of(current: StreamsAssignment | None) -> Iterator[TaskId]:
    if current is not None:
        # Tasks that are being revoked still belong to the member, and block others, until it confirms
        # (StreamsGroup.addTaskProcessId).
        yield from current.active
        yield from current.revoking_active


def _standby_of(current: StreamsAssignment | None) -> Iterator[TaskId]:
    if current is not None:
        yield from current.standby
        yield from current.revoking_standby
