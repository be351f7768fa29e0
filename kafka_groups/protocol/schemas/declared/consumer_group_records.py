"""Schemas of a consumer group's records in `__consumer_offsets`, as in Kafka 4.4 (KIP-848, KIP-1251, KIP-1263)."""

from kafka_groups.protocol.schemas.declaring import (
    BYTES,
    INT8,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    UUID_,
    array_of,
    fixed,
    flexible,
    nullable,
    tagged,
)

GROUP_KEY = fixed("ConsumerGroupKey", group_id=STRING)
"""Key of the types 3 (metadata), 4 (partition metadata) and 6 (target assignment's metadata)."""
MEMBER_KEY = fixed("ConsumerGroupMemberKey", group_id=STRING, member_id=STRING)
"""Key of the types 5 (member), 7 (target assignment) and 8 (current assignment)."""
REGEX_KEY = fixed("ConsumerGroupRegexKey", group_id=STRING, regular_expression=STRING)
"""Key of type 16."""

METADATA = flexible("ConsumerGroupMetadataValue", epoch=INT32, metadata_hash=tagged(0, INT64, default=0))

RACKS = flexible("PartitionRacks", partition=INT32, racks=array_of(STRING))
TOPIC_METADATA = flexible(
    "ConsumerGroupTopicMetadata",
    topic_id=UUID_,
    topic_name=STRING,
    num_partitions=INT32,
    partition_metadata=array_of(RACKS),
)
PARTITION_METADATA = flexible("ConsumerGroupPartitionMetadataValue", topics=array_of(TOPIC_METADATA))

CLASSIC_PROTOCOL = flexible("ClassicProtocol", name=STRING, metadata=BYTES)
CLASSIC_MEMBER = flexible(
    "ClassicMemberMetadata", session_timeout_ms=INT32, supported_protocols=array_of(CLASSIC_PROTOCOL)
)
MEMBER_METADATA = flexible(
    "ConsumerGroupMemberMetadataValue",
    instance_id=NULLABLE_STRING,
    rack_id=NULLABLE_STRING,
    client_id=STRING,
    client_host=STRING,
    subscribed_topic_names=array_of(STRING),
    subscribed_topic_regex=NULLABLE_STRING,
    rebalance_timeout_ms=INT32,
    server_assignor=NULLABLE_STRING,
    classic_member_metadata=tagged(0, nullable(CLASSIC_MEMBER), default=None),
)

TARGET_ASSIGNMENT_METADATA = flexible(
    "ConsumerGroupTargetAssignmentMetadataValue",
    assignment_epoch=INT32,
    assignment_timestamp_ms=tagged(0, INT64, default=0),
)
TARGET_TOPIC = flexible("TargetTopic", topic_id=UUID_, partitions=array_of(INT32))
TARGET_ASSIGNMENT_MEMBER = flexible("ConsumerGroupTargetAssignmentMemberValue", topic_partitions=array_of(TARGET_TOPIC))

CURRENT_TOPIC = flexible(
    "CurrentTopic",
    topic_id=UUID_,
    partitions=array_of(INT32),
    assignment_epochs=tagged(0, nullable(array_of(INT32)), default=()),
)
CURRENT_MEMBER_ASSIGNMENT = flexible(
    "ConsumerGroupCurrentMemberAssignmentValue",
    member_epoch=INT32,
    previous_member_epoch=INT32,
    state=INT8,
    assigned_partitions=array_of(CURRENT_TOPIC),
    partitions_pending_revocation=array_of(CURRENT_TOPIC),
)

REGULAR_EXPRESSION = flexible(
    "ConsumerGroupRegularExpressionValue", topics=array_of(STRING), version=INT64, timestamp_ms=INT64
)
