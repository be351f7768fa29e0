"""Schemas of committed offsets and of classic groups in `__consumer_offsets`, in all versions of Kafka 4.4."""

from kafka_groups.protocol.schemas.declaring import (
    BYTES,
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

OFFSET_KEY = fixed("OffsetKey", group=STRING, topic=STRING, partition=INT32)
"""Key of the types 0 (legacy) and 1."""
GROUP_KEY = fixed("ClassicGroupKey", group=STRING)
"""Key of type 2."""

_OFFSET_COMMIT_3 = {
    "offset": INT64,
    "leader_epoch": INT32,
    "metadata": STRING,
    "commit_timestamp_ms": INT64,
}
OFFSET_COMMIT_0 = fixed("OffsetCommitValue", offset=INT64, metadata=STRING, commit_timestamp_ms=INT64)
OFFSET_COMMIT = {
    0: OFFSET_COMMIT_0,
    1: fixed(
        "OffsetCommitValue",
        1,
        offset=INT64,
        metadata=STRING,
        commit_timestamp_ms=INT64,
        expire_timestamp_ms=INT64,
    ),
    2: OFFSET_COMMIT_0,
    3: fixed("OffsetCommitValue", 3, **_OFFSET_COMMIT_3),
    4: flexible("OffsetCommitValue", 4, **_OFFSET_COMMIT_3, topic_id=tagged(0, UUID_, default=None)),
}

_NAMES = {"member_id": STRING, "client_id": STRING, "client_host": STRING}
_NAMES_3 = {"member_id": STRING, "group_instance_id": NULLABLE_STRING, "client_id": STRING, "client_host": STRING}
_REST = {"session_timeout_ms": INT32, "subscription": BYTES, "assignment": BYTES}
_REST_1 = {"rebalance_timeout_ms": INT32, **_REST}
_GROUP = {"protocol_type": STRING, "generation": INT32, "protocol": NULLABLE_STRING, "leader": NULLABLE_STRING}
_GROUP_2 = {**_GROUP, "current_state_timestamp_ms": INT64}
GROUP_METADATA = {
    0: fixed("GroupMetadataValue", **_GROUP, members=array_of(fixed("GroupMember", **_NAMES, **_REST))),
    1: fixed("GroupMetadataValue", 1, **_GROUP, members=array_of(fixed("GroupMember", **_NAMES, **_REST_1))),
    2: fixed("GroupMetadataValue", 2, **_GROUP_2, members=array_of(fixed("GroupMember", **_NAMES, **_REST_1))),
    3: fixed("GroupMetadataValue", 3, **_GROUP_2, members=array_of(fixed("GroupMember", **_NAMES_3, **_REST_1))),
    4: flexible("GroupMetadataValue", 4, **_GROUP_2, members=array_of(flexible("GroupMember", **_NAMES_3, **_REST_1))),
}
