"""Schemas of APIs of streams groups in versions of Kafka 4.4."""

from kafka_groups.protocol.messages.streams_group_parts import (
    KeyValue,
    StreamsSubtopology,
    StreamsTopicInfo,
    TaskIds,
    TaskOffset,
    UserEndpoint,
)
from kafka_groups.protocol.schemas.declarations import (
    BOOLEAN,
    INT8,
    INT16,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    FieldType,
    array_of,
    flexible,
    nullable,
    request,
    response,
)
from kafka_groups.protocol.schemas.derivation import derived_schema
from kafka_groups.protocol.schemas.plain_schema import Schema

__all__ = [
    "DESCRIBE_REQUEST_1",
    "DESCRIBE_RESPONSE_1",
    "DESCRIPTION_UPDATE_REQUEST_0",
    "DESCRIPTION_UPDATE_RESPONSE_0",
    "HEARTBEAT_REQUEST_1",
    "HEARTBEAT_RESPONSE_0",
    "HEARTBEAT_RESPONSE_1",
]

_KEY_VALUE = derived_schema(KeyValue)
_ENDPOINT = derived_schema(UserEndpoint)
_TASK_IDS = derived_schema(TaskIds)
_TASK_OFFSET = derived_schema(TaskOffset)
_TOPIC_INFO = derived_schema(StreamsTopicInfo)
_SUBTOPOLOGY = derived_schema(StreamsSubtopology)

# ------------------------------------------------------------------------------------------- heartbeats

_TOPOLOGY = flexible("Topology", epoch=INT32, subtopologies=array_of(_SUBTOPOLOGY))
_TASKS = nullable(array_of(_TASK_IDS))
HEARTBEAT_REQUEST_1 = request(
    "StreamsGroupHeartbeatRequest",
    1,
    group_id=STRING,
    member_id=STRING,
    member_epoch=INT32,
    endpoint_information_epoch=INT32,
    instance_id=NULLABLE_STRING,
    rack_id=NULLABLE_STRING,
    rebalance_timeout_ms=INT32,
    topology=nullable(_TOPOLOGY),
    active_tasks=_TASKS,
    standby_tasks=_TASKS,
    warmup_tasks=_TASKS,
    process_id=NULLABLE_STRING,
    user_endpoint=nullable(_ENDPOINT),
    client_tags=nullable(array_of(_KEY_VALUE)),
    task_offsets=nullable(array_of(_TASK_OFFSET)),
    task_end_offsets=nullable(array_of(_TASK_OFFSET)),
    shutdown_application=BOOLEAN,
)

_STATUS = flexible("Status", status_code=INT8, status_detail=STRING)
_TOPIC_PARTITION = flexible("TopicPartition", topic=STRING, partitions=array_of(INT32))
_ENDPOINT_TO_PARTITIONS = flexible(
    "EndpointToPartitions",
    user_endpoint=FieldType(_ENDPOINT),
    active_partitions=array_of(_TOPIC_PARTITION),
    standby_partitions=array_of(_TOPIC_PARTITION),
)


def _heartbeat_response(
    version: int, legacy_lag: dict[str, FieldType], lag: dict[str, FieldType], description: dict[str, FieldType]
) -> Schema:
    return response(
        "StreamsGroupHeartbeatResponse",
        version,
        throttle_time_ms=INT32,
        error_code=INT16,
        error_message=NULLABLE_STRING,
        member_id=STRING,
        member_epoch=INT32,
        heartbeat_interval_ms=INT32,
        **legacy_lag,
        task_offset_interval_ms=INT32,
        **lag,
        status=nullable(array_of(_STATUS)),
        active_tasks=_TASKS,
        standby_tasks=_TASKS,
        warmup_tasks=_TASKS,
        **description,
        endpoint_information_epoch=INT32,
        partitions_by_user_endpoint=nullable(array_of(_ENDPOINT_TO_PARTITIONS)),
    )


# kio has v0, with the name that the lag had before Kafka 4.4 gave it to another field.
HEARTBEAT_RESPONSE_0 = _heartbeat_response(0, {"acceptable_recovery_lag_legacy": INT32}, {}, {})
HEARTBEAT_RESPONSE_1 = _heartbeat_response(
    1, {}, {"acceptable_recovery_lag": INT64}, {"topology_description_required": BOOLEAN}
)

# ---------------------------------------------------------------------------------------------- describe

DESCRIBE_REQUEST_1 = request(
    "StreamsGroupDescribeRequest",
    1,
    group_ids=array_of(STRING),
    include_authorized_operations=BOOLEAN,
    include_topology_description=BOOLEAN,
)

_DESCRIBED_SUBTOPOLOGY = flexible(
    "Subtopology",
    subtopology_id=STRING,
    source_topics=array_of(STRING),
    repartition_sink_topics=array_of(STRING),
    state_changelog_topics=array_of(_TOPIC_INFO),
    repartition_source_topics=array_of(_TOPIC_INFO),
)
_DESCRIBED_TOPOLOGY = flexible("Topology", epoch=INT32, subtopologies=nullable(array_of(_DESCRIBED_SUBTOPOLOGY)))
_ASSIGNMENT = flexible(
    "Assignment",
    active_tasks=array_of(_TASK_IDS),
    standby_tasks=array_of(_TASK_IDS),
    warmup_tasks=array_of(_TASK_IDS),
)
_MEMBER = flexible(
    "Member",
    member_id=STRING,
    member_epoch=INT32,
    instance_id=NULLABLE_STRING,
    rack_id=NULLABLE_STRING,
    client_id=STRING,
    client_host=STRING,
    topology_epoch=INT32,
    process_id=STRING,
    user_endpoint=nullable(_ENDPOINT),
    client_tags=array_of(_KEY_VALUE),
    task_offsets=array_of(_TASK_OFFSET),
    task_end_offsets=array_of(_TASK_OFFSET),
    assignment=FieldType(_ASSIGNMENT),
    target_assignment=FieldType(_ASSIGNMENT),
    is_classic=BOOLEAN,
)
_NODE = flexible(
    "TopologyDescriptionNode",
    name=STRING,
    node_type=INT8,
    source_topics=array_of(STRING),
    sink_topic=NULLABLE_STRING,
    stores=array_of(STRING),
    successors=array_of(STRING),
)
_NODES = flexible("TopologyDescriptionSubtopology", subtopology_id=STRING, nodes=array_of(_NODE))
_GLOBAL_STORE = flexible("TopologyDescriptionGlobalStore", source=FieldType(_NODE), processor=FieldType(_NODE))
_DESCRIPTION = flexible("TopologyDescription", subtopologies=array_of(_NODES), global_stores=array_of(_GLOBAL_STORE))
_GROUP = flexible(
    "DescribedGroup",
    error_code=INT16,
    error_message=NULLABLE_STRING,
    group_id=STRING,
    group_state=STRING,
    group_epoch=INT32,
    assignment_epoch=INT32,
    topology=nullable(_DESCRIBED_TOPOLOGY),
    members=array_of(_MEMBER),
    authorized_operations=INT32,
    topology_description=nullable(_DESCRIPTION),
    topology_description_status=INT8,
    assignor_name=NULLABLE_STRING,
)
DESCRIBE_RESPONSE_1 = response("StreamsGroupDescribeResponse", 1, throttle_time_ms=INT32, groups=array_of(_GROUP))
DESCRIPTION_UPDATE_REQUEST_0 = request(
    "StreamsGroupTopologyDescriptionUpdateRequest",
    0,
    group_id=STRING,
    member_id=STRING,
    topology_epoch=INT32,
    topology_description=FieldType(_DESCRIPTION),
)
DESCRIPTION_UPDATE_RESPONSE_0 = response(
    "StreamsGroupTopologyDescriptionUpdateResponse",
    0,
    throttle_time_ms=INT32,
    error_code=INT16,
    error_message=NULLABLE_STRING,
)
