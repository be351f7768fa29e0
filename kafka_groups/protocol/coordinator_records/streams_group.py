"""Records of streams groups in `__consumer_offsets`, types 17 and 19 to 23 (KIP-1071)."""

from typing import TypeVar

from attrs import frozen

from kafka_groups.protocol.coordinator_records.group_record import GroupKeyed, MemberKeyed, TargetEpoch
from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.fields import Int8, Int32, Int64, wire_field
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, StreamsSubtopology, TaskIds, UserEndpoint

__all__ = [
    "STREAMS_GROUP_RECORDS",
    "CurrentTaskIds",
    "OfStreamsGroup",
    "StreamsGroupCurrentMemberAssignment",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadata",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadata",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMember",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadata",
    "StreamsGroupTopology",
    "StreamsGroupTopologyValue",
]

V = TypeVar("V")
"""The value, if the rules of the group coordinator have it in another form than the message class in the table."""


class OfStreamsGroup:
    """A record of a streams group."""

    __slots__ = ()


@frozen(kw_only=True)
class StreamsGroupMetadataValue:
    """The group's epoch.

    Attributes:
        epoch: The group epoch.
        metadata_hash: A hash of the topics of its topology.
        validated_topology_epoch: The epoch of the topology whose topics exist and fit each other, or -1.
        last_assignment_configs: The group's configs that its tasks were last assigned with.
        stored_description_topology_epoch: The epoch of the topology that a plugin has a description of (KIP-1331).
        failed_description_topology_epoch: The epoch of the topology whose description the plugin refused.
    """

    epoch: Int32
    metadata_hash: Int64
    validated_topology_epoch: Int32 = wire_field(-1, tag=0)
    last_assignment_configs: tuple[KeyValue, ...] = wire_field((), tag=1)
    stored_description_topology_epoch: Int32 = wire_field(-1, tag=2)
    failed_description_topology_epoch: Int32 = wire_field(-1, tag=3)


@frozen
class StreamsGroupMetadata(OfStreamsGroup, GroupKeyed[V]):
    """The group itself (type 17)."""


@frozen(kw_only=True)
class StreamsGroupMemberMetadataValue:
    """A member's description of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout_ms: Int32
    topology_epoch: Int32
    process_id: str
    user_endpoint: UserEndpoint | None = None
    client_tags: tuple[KeyValue, ...] = ()


@frozen
class StreamsGroupMemberMetadata(OfStreamsGroup, MemberKeyed[V]):
    """A member (type 19)."""


@frozen
class StreamsGroupTargetAssignmentMetadata(OfStreamsGroup, GroupKeyed[TargetEpoch]):
    """The epoch of the target assignment (type 20)."""


@frozen(kw_only=True)
class StreamsGroupTargetAssignmentMemberValue:
    """A member's part of the target assignment."""

    active_tasks: tuple[TaskIds, ...] = ()
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


@frozen
class StreamsGroupTargetAssignmentMember(OfStreamsGroup, MemberKeyed[V]):
    """A member's part of the target assignment (type 21)."""


@frozen(kw_only=True)
class CurrentTaskIds:
    """Tasks of one sub-topology. Active tasks have the epoch at which each was assigned to the member (KAFKA-19779)."""

    subtopology_id: str
    partitions: tuple[Int32, ...] = ()
    assignment_epochs: tuple[Int32, ...] | None = wire_field((), tag=0)


@frozen(kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue:
    """A member's epoch, the tasks that it may own, and those that it has to revoke first.

    The state is 1 (stable), 2 (the member has to revoke tasks), 3 (it waits for others to do so) or 127 (unknown).
    """

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    active_tasks: tuple[CurrentTaskIds, ...] = ()
    standby_tasks: tuple[CurrentTaskIds, ...] = ()
    warmup_tasks: tuple[CurrentTaskIds, ...] = ()
    active_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = ()
    standby_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = ()
    warmup_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = ()


@frozen
class StreamsGroupCurrentMemberAssignment(OfStreamsGroup, MemberKeyed[V]):
    """A member's epoch and current tasks (type 22)."""


@frozen(kw_only=True)
class StreamsGroupTopologyValue:
    """The topology, as the first member sent it."""

    epoch: Int32
    subtopologies: tuple[StreamsSubtopology, ...] = ()


@frozen
class StreamsGroupTopology(OfStreamsGroup, GroupKeyed[V]):
    """The topology that the first member sent (type 23)."""


STREAMS_GROUP_RECORDS = (
    RecordType(17, StreamsGroupMetadata, StreamsGroupMetadataValue),
    RecordType(19, StreamsGroupMemberMetadata, StreamsGroupMemberMetadataValue),
    RecordType(20, StreamsGroupTargetAssignmentMetadata, TargetEpoch),
    RecordType(21, StreamsGroupTargetAssignmentMember, StreamsGroupTargetAssignmentMemberValue),
    RecordType(22, StreamsGroupCurrentMemberAssignment, StreamsGroupCurrentMemberAssignmentValue),
    RecordType(23, StreamsGroupTopology, StreamsGroupTopologyValue),
)
"""The record types of streams groups."""
