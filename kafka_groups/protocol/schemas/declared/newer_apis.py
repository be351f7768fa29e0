"""Schemas of requests and responses in versions of Kafka 4.4, such as ApiVersions v5 (KIP-1242)."""

from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.protocol.schemas.declarations import (
    BOOLEAN,
    INT16,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    UUID_,
    array_of,
    flexible,
    request,
    response,
    tagged,
)
from kafka_groups.protocol.schemas.declared import streams_group_apis
from kafka_groups.protocol.schemas.plain_schema import Schema

__all__ = ["REQUESTS", "RESPONSES"]

_API_VERSION = flexible("ApiVersion", 5, api_key=INT16, min_version=INT16, max_version=INT16)
_SUPPORTED = flexible("SupportedFeatureKey", 5, name=STRING, min_version=INT16, max_version=INT16)
_FINALIZED = flexible("FinalizedFeatureKey", 5, name=STRING, max_version_level=INT16, min_version_level=INT16)
_TXN_OFFSET = flexible(
    "TxnOffsetCommitRequestPartition",
    6,
    partition_index=INT32,
    committed_offset=INT64,
    committed_leader_epoch=INT32,
    committed_metadata=NULLABLE_STRING,
)
_TXN_OFFSETS = flexible("TxnOffsetCommitRequestTopic", 6, topic_id=UUID_, partitions=array_of(_TXN_OFFSET))
_TXN_OFFSET_RESULT = flexible("TxnOffsetCommitResponsePartition", 6, partition_index=INT32, error_code=INT16)
_TXN_OFFSET_RESULTS = flexible(
    "TxnOffsetCommitResponseTopic", 6, topic_id=UUID_, partitions=array_of(_TXN_OFFSET_RESULT)
)
_DELETED_GROUP = flexible("DeletableGroupResult", 3, group_id=STRING, error_code=INT16, error_message=NULLABLE_STRING)

REQUESTS: Mapping[tuple[int, int], Schema] = MappingProxyType({
    (18, 5): request(
        "ApiVersionsRequest",
        5,
        client_software_name=STRING,
        client_software_version=STRING,
        cluster_id=NULLABLE_STRING,
        node_id=INT32,
    ),
    (28, 6): request(
        "TxnOffsetCommitRequest",
        6,
        transactional_id=STRING,
        group_id=STRING,
        producer_id=INT64,
        producer_epoch=INT16,
        generation_id=INT32,
        member_id=STRING,
        group_instance_id=NULLABLE_STRING,
        topics=array_of(_TXN_OFFSETS),
    ),
    (42, 3): request("DeleteGroupsRequest", 3, groups_names=array_of(STRING)),
    (88, 1): streams_group_apis.HEARTBEAT_REQUEST_1,
    (89, 1): streams_group_apis.DESCRIBE_REQUEST_1,
    (93, 0): streams_group_apis.DESCRIPTION_UPDATE_REQUEST_0,
})  # fmt: skip
"""The schema of a request by API key and version."""

RESPONSES: Mapping[tuple[int, int], Schema] = MappingProxyType({
    (18, 5): response(
        "ApiVersionsResponse",
        5,
        error_code=INT16,
        api_keys=array_of(_API_VERSION),
        throttle_time_ms=INT32,
        supported_features=tagged(0, array_of(_SUPPORTED), default=()),
        finalized_features_epoch=tagged(1, INT64, default=-1),
        finalized_features=tagged(2, array_of(_FINALIZED), default=()),
        zk_migration_ready=tagged(3, BOOLEAN, default=False),
    ),
    (28, 6): response(
        "TxnOffsetCommitResponse", 6, throttle_time_ms=INT32, topics=array_of(_TXN_OFFSET_RESULTS)
    ),
    (42, 3): response("DeleteGroupsResponse", 3, throttle_time_ms=INT32, results=array_of(_DELETED_GROUP)),
    (88, 0): streams_group_apis.HEARTBEAT_RESPONSE_0,
    (88, 1): streams_group_apis.HEARTBEAT_RESPONSE_1,
    (89, 1): streams_group_apis.DESCRIBE_RESPONSE_1,
    (93, 0): streams_group_apis.DESCRIPTION_UPDATE_RESPONSE_0,
})  # fmt: skip
"""The schema of a response by API key and version."""
