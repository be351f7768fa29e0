"""Schemas of a share group's records in `__consumer_offsets`, as in Kafka 4.4 (KIP-932, KIP-1263)."""

from kafka_groups.protocol.schemas.declaring import (
    INT8,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    UUID_,
    array_of,
    fixed,
    flexible,
    tagged,
)

GROUP_KEY = fixed("ShareGroupKey", group_id=STRING)
"""Key of the types 11 (metadata), 12 (target assignment's metadata) and 15 (state partitions)."""
MEMBER_KEY = fixed("ShareGroupMemberKey", group_id=STRING, member_id=STRING)
"""Key of the types 10 (member), 13 (target assignment) and 14 (current assignment)."""

ASSIGNED_TOPIC = flexible("AssignedTopic", topic_id=UUID_, partitions=array_of(INT32))
STATE_TOPIC = flexible("StateTopic", topic_id=UUID_, topic_name=STRING, partitions=array_of(INT32))
DELETING_TOPIC = flexible("DeletingTopic", topic_id=UUID_, topic_name=STRING)

MEMBER_METADATA = flexible(
    "ShareGroupMemberMetadataValue",
    rack_id=NULLABLE_STRING,
    client_id=STRING,
    client_host=STRING,
    subscribed_topic_names=array_of(STRING),
)
METADATA = flexible("ShareGroupMetadataValue", epoch=INT32, metadata_hash=INT64)
TARGET_ASSIGNMENT_METADATA = flexible(
    "ShareGroupTargetAssignmentMetadataValue",
    assignment_epoch=INT32,
    assignment_timestamp_ms=tagged(0, INT64, default=0),
)
TARGET_ASSIGNMENT_MEMBER = flexible("ShareGroupTargetAssignmentMemberValue", topic_partitions=array_of(ASSIGNED_TOPIC))
CURRENT_MEMBER_ASSIGNMENT = flexible(
    "ShareGroupCurrentMemberAssignmentValue",
    member_epoch=INT32,
    previous_member_epoch=INT32,
    state=INT8,
    assigned_partitions=array_of(ASSIGNED_TOPIC),
)
STATE_PARTITION_METADATA = flexible(
    "ShareGroupStatePartitionMetadataValue",
    initializing_topics=array_of(STATE_TOPIC),
    initialized_topics=array_of(STATE_TOPIC),
    deleting_topics=array_of(DELETING_TOPIC),
)
