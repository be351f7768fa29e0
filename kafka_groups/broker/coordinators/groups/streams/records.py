"""The records that store a streams group's hard state: types 17 and 19 to 23 of `__consumer_offsets`.

A record has a key (its type, the group, and for some types a member) and a value. A value of None is a tombstone that
deletes the key. The state of a group depends only on the last value of each key, so the log can be compacted.

The classes are those of `protocol/coordinator_records/`, but most values are not: tasks, tags and configs, which are
lists there, are sets and maps here, so that their order makes no difference.
"""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from kafka_groups.broker.coordinators.groups.streams.states import StreamsMemberState
from kafka_groups.broker.coordinators.groups.streams.tasks import Tasks
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMemberMetadata,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTargetAssignmentMetadata,
    StreamsGroupTopology,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import JOIN_GROUP_EPOCH, LEAVE_STATIC_EPOCH
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.types import TaskId

__all__ = [
    "IS_STORING",
    "NOT_VALIDATED",
    "StreamsAssignment",
    "StreamsGroupEpoch",
    "StreamsGroupRecord",
    "StreamsMember",
    "StreamsTarget",
]

NOT_VALIDATED = -1
"""In place of the epoch of a topology that does not work with the existing topics."""
_NONE_STORED = -1
IS_STORING = -2
"""In place of the epoch of a description that may be stored or not."""


# ------------------------------------------------------------------------------------------------ values


@frozen
class StreamsGroupEpoch:
    """The group epoch, and what it was increased for.

    Attributes:
        epoch: The group epoch.
        metadata_hash: A hash of the topology's topics at that epoch.
        validated_topology_epoch: The epoch of the topology that works with the existing topics, or -1.
        assignment_configs: The configs that assignors may use, with their values at that epoch.
        stored_description_epoch: The epoch of the topology whose description is stored (KIP-1331), -1 if there is
            none, or -2 while it is stored.
        failed_description_epoch: The epoch of the topology whose description was refused. Never here.
    """

    epoch: int
    metadata_hash: int = 0
    validated_topology_epoch: int = NOT_VALIDATED
    assignment_configs: Mapping[str, str] = field(factory=dict)
    stored_description_epoch: int = _NONE_STORED
    failed_description_epoch: int = _NONE_STORED


@frozen(kw_only=True)
class StreamsMember:
    """A member's description of itself.

    Attributes:
        client_id: The client id of its requests.
        client_host: The host that they come from.
        rebalance_timeout_ms: The time that it has to revoke tasks.
        topology_epoch: The epoch of its topology.
        process_id: The process that it is a part of. Tasks of one process share their state.
        instance_id: The id of a static member, or None.
        rack_id: Its rack, or None.
        user_endpoint: The address where its process answers interactive queries, or None.
        client_tags: Its tags.
    """

    client_id: str
    client_host: str
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    user_endpoint: UserEndpoint | None = None
    client_tags: Mapping[str, str] = field(factory=dict)


@frozen
class StreamsTarget:
    """The tasks that a member will have."""

    active: Tasks = frozenset()
    standby: Tasks = frozenset()


@frozen(kw_only=True)
class StreamsAssignment:
    """A member's epoch and current tasks.

    Attributes:
        member_epoch: The epoch that its next heartbeat should contain. -2: a static member is away.
        previous_member_epoch: Also accepted, because the response with the current epoch may have been lost.
        state: Its progress towards its target assignment.
        active: The active tasks that it may own, with the epoch in which each was assigned (KAFKA-19779).
        standby: The standby tasks that it may own.
        revoking_active: The active tasks that it has to revoke. Nobody else gets them before it has.
        revoking_standby: The standby tasks that it has to revoke.
    """

    member_epoch: int
    previous_member_epoch: int
    state: StreamsMemberState = StreamsMemberState.STABLE
    active: Mapping[TaskId, int] = field(factory=dict)
    standby: Tasks = frozenset()
    revoking_active: Mapping[TaskId, int] = field(factory=dict)
    revoking_standby: Tasks = frozenset()

    @property
    def is_stable(self) -> bool:
        """True if the member may own all of its target assignment that was free."""
        return self.state is StreamsMemberState.STABLE

    @property
    def must_revoke(self) -> bool:
        """True if the member has yet to revoke tasks. Until then it keeps its epoch."""
        return self.state is StreamsMemberState.UNREVOKED_TASKS

    def away(self) -> "StreamsAssignment":
        """Return what a static member keeps that leaves for a while.

        As in Kafka, the tasks lose their epochs, so that their offsets can be committed in any.
        """
        return evolve(
            self,
            # GroupMetadataManager.streamsGroupStaticMemberGroupLeave has the same three changes. What it had to revoke
            # is dropped, because a process that has ended owns nothing.
            member_epoch=LEAVE_STATIC_EPOCH,
            active=dict.fromkeys(self.active, 0),
            revoking_active={},
            revoking_standby=frozenset(),
        )

    def returned(self) -> "StreamsAssignment":
        """Return what a static member has that returns."""
        # The member joins with epoch 0 like any other, so that is what its next step starts from
        # (GroupMetadataManager.getOrMaybeCreateStaticStreamsGroupMember).
        return evolve(self, member_epoch=JOIN_GROUP_EPOCH, previous_member_epoch=0)

    def has_same_tasks(self, other: "StreamsAssignment") -> bool:
        """Return whether a member may own the same tasks, assigned in the same epochs."""
        # Kafka also compares the epochs of active tasks (StreamsGroupMember.hasAssignedTasksChanged).
        return self.active == other.active and self.standby == other.standby


# ----------------------------------------------------------------------------------------------- records

StreamsGroupRecord = (
    StreamsGroupMetadata[StreamsGroupEpoch]
    | StreamsGroupMemberMetadata[StreamsMember]
    | StreamsGroupTargetAssignmentMetadata
    | StreamsGroupTargetAssignmentMember[StreamsTarget]
    | StreamsGroupCurrentMemberAssignment[StreamsAssignment]
    | StreamsGroupTopology[StreamsTopology]
)
