"""Schemas of a streams group's records in `__consumer_offsets`, as in Kafka 4.4 (KIP-1071, KIP-1263, KIP-1331)."""

from kafka_groups.protocol.schemas.declared.streams_groups import ENDPOINT, KEY_VALUE, SUBTOPOLOGY, TASK_IDS
from kafka_groups.protocol.schemas.declaring import (
    INT8,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    array_of,
    fixed,
    flexible,
    nullable,
    tagged,
)

GROUP_KEY = fixed("StreamsGroupKey", group_id=STRING)
"""Key of the types 17 (metadata), 20 (target assignment's metadata) and 23 (topology)."""
MEMBER_KEY = fixed("StreamsGroupMemberKey", group_id=STRING, member_id=STRING)
"""Key of the types 19 (member), 21 (target assignment) and 22 (current assignment)."""

METADATA = flexible(
    "StreamsGroupMetadataValue",
    epoch=INT32,
    metadata_hash=INT64,
    validated_topology_epoch=tagged(0, INT32, default=-1),
    last_assignment_configs=tagged(1, array_of(KEY_VALUE), default=()),
    stored_description_topology_epoch=tagged(2, INT32, default=-1),
    failed_description_topology_epoch=tagged(3, INT32, default=-1),
)
MEMBER_METADATA = flexible(
    "StreamsGroupMemberMetadataValue",
    instance_id=NULLABLE_STRING,
    rack_id=NULLABLE_STRING,
    client_id=STRING,
    client_host=STRING,
    rebalance_timeout_ms=INT32,
    topology_epoch=INT32,
    process_id=STRING,
    user_endpoint=nullable(ENDPOINT),
    client_tags=array_of(KEY_VALUE),
)
TARGET_ASSIGNMENT_METADATA = flexible(
    "StreamsGroupTargetAssignmentMetadataValue",
    assignment_epoch=INT32,
    assignment_timestamp_ms=tagged(0, INT64, default=0),
)
TARGET_ASSIGNMENT_MEMBER = flexible(
    "StreamsGroupTargetAssignmentMemberValue",
    active_tasks=array_of(TASK_IDS),
    standby_tasks=array_of(TASK_IDS),
    warmup_tasks=array_of(TASK_IDS),
)
CURRENT_TASK_IDS = flexible(
    "TaskIds",
    subtopology_id=STRING,
    partitions=array_of(INT32),
    assignment_epochs=tagged(0, nullable(array_of(INT32)), default=()),
)
CURRENT_MEMBER_ASSIGNMENT = flexible(
    "StreamsGroupCurrentMemberAssignmentValue",
    member_epoch=INT32,
    previous_member_epoch=INT32,
    state=INT8,
    active_tasks=array_of(CURRENT_TASK_IDS),
    standby_tasks=array_of(CURRENT_TASK_IDS),
    warmup_tasks=array_of(CURRENT_TASK_IDS),
    active_tasks_pending_revocation=array_of(CURRENT_TASK_IDS),
    standby_tasks_pending_revocation=array_of(CURRENT_TASK_IDS),
    warmup_tasks_pending_revocation=array_of(CURRENT_TASK_IDS),
)
TOPOLOGY = flexible("StreamsGroupTopologyValue", epoch=INT32, subtopologies=array_of(SUBTOPOLOGY))
