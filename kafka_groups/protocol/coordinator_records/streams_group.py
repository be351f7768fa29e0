"""Records of streams groups in `__consumer_offsets`, types 17 and 19 to 23 (KIP-1071)."""

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.messages.streams_group import KeyValue, StreamsSubtopology, TaskIds, UserEndpoint
from kafka_groups.protocol.schemas.declared import streams_group_records as schemas

__all__ = [
    "STREAMS_GROUP_RECORDS",
    "CurrentTaskIds",
    "StreamsGroupCurrentMemberAssignmentKey",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadataKey",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataKey",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMemberKey",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadataKey",
    "StreamsGroupTargetAssignmentMetadataValue",
    "StreamsGroupTopologyKey",
    "StreamsGroupTopologyValue",
]


@frozen(kw_only=True)
class StreamsGroupMetadataKey:
    """Key of a group (type 17)."""

    group_id: str


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

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int = -1
    last_assignment_configs: tuple[KeyValue, ...] = ()
    stored_description_topology_epoch: int = -1
    failed_description_topology_epoch: int = -1


@frozen(kw_only=True)
class StreamsGroupMemberMetadataKey:
    """Key of a member (type 19)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class StreamsGroupMemberMetadataValue:
    """A member's description of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: UserEndpoint | None = None
    client_tags: tuple[KeyValue, ...] = ()


@frozen(kw_only=True)
class StreamsGroupTargetAssignmentMetadataKey:
    """Key of the target assignment's metadata (type 20)."""

    group_id: str


@frozen(kw_only=True)
class StreamsGroupTargetAssignmentMetadataValue:
    """The group epoch that the target assignment was computed for, and when."""

    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@frozen(kw_only=True)
class StreamsGroupTargetAssignmentMemberKey:
    """Key of a member's part of the target assignment (type 21)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class StreamsGroupTargetAssignmentMemberValue:
    """A member's part of the target assignment."""

    active_tasks: tuple[TaskIds, ...] = ()
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


@frozen(kw_only=True)
class StreamsGroupCurrentMemberAssignmentKey:
    """Key of a member's epoch and current assignment (type 22)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class CurrentTaskIds:
    """Tasks of one sub-topology. Active tasks have the epoch at which each was assigned to the member (KAFKA-19779)."""

    subtopology_id: str
    partitions: tuple[int, ...] = ()
    assignment_epochs: tuple[int, ...] | None = ()


@frozen(kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue:
    """A member's epoch, the tasks that it may own, and those that it has to revoke first.

    The state is 1 (stable), 2 (the member has to revoke tasks), 3 (it waits for others to do so) or 127 (unknown).
    """

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: tuple[CurrentTaskIds, ...] = ()
    standby_tasks: tuple[CurrentTaskIds, ...] = ()
    warmup_tasks: tuple[CurrentTaskIds, ...] = ()
    active_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = ()
    standby_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = ()
    warmup_tasks_pending_revocation: tuple[CurrentTaskIds, ...] = ()


@frozen(kw_only=True)
class StreamsGroupTopologyKey:
    """Key of the topology (type 23)."""

    group_id: str


@frozen(kw_only=True)
class StreamsGroupTopologyValue:
    """The topology, as the first member sent it."""

    epoch: int
    subtopologies: tuple[StreamsSubtopology, ...] = ()


STREAMS_GROUP_RECORDS = (
    RecordType(
        17, key=(StreamsGroupMetadataKey, schemas.GROUP_KEY), value=(StreamsGroupMetadataValue, {0: schemas.METADATA})
    ),
    RecordType(
        19,
        key=(StreamsGroupMemberMetadataKey, schemas.MEMBER_KEY),
        value=(StreamsGroupMemberMetadataValue, {0: schemas.MEMBER_METADATA}),
    ),
    RecordType(
        20,
        key=(StreamsGroupTargetAssignmentMetadataKey, schemas.GROUP_KEY),
        value=(StreamsGroupTargetAssignmentMetadataValue, {0: schemas.TARGET_ASSIGNMENT_METADATA}),
    ),
    RecordType(
        21,
        key=(StreamsGroupTargetAssignmentMemberKey, schemas.MEMBER_KEY),
        value=(StreamsGroupTargetAssignmentMemberValue, {0: schemas.TARGET_ASSIGNMENT_MEMBER}),
    ),
    RecordType(
        22,
        key=(StreamsGroupCurrentMemberAssignmentKey, schemas.MEMBER_KEY),
        value=(StreamsGroupCurrentMemberAssignmentValue, {0: schemas.CURRENT_MEMBER_ASSIGNMENT}),
    ),
    RecordType(
        23, key=(StreamsGroupTopologyKey, schemas.GROUP_KEY), value=(StreamsGroupTopologyValue, {0: schemas.TOPOLOGY})
    ),
)
"""The record types of streams groups."""
