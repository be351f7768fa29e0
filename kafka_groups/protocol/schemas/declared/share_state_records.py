"""Schemas of the records in `__share_group_state`, as in Kafka 4.4 (KIP-932, KIP-1226)."""

from kafka_groups.protocol.schemas.declaring import (
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID_,
    array_of,
    fixed,
    flexible,
    tagged,
)

SHARE_PARTITION_KEY = fixed("SharePartitionKey", group_id=STRING, topic_id=UUID_, partition=INT32)
"""Key of the types 0 (snapshot) and 1 (update)."""

STATE_BATCH = flexible("StateBatch", first_offset=INT64, last_offset=INT64, delivery_state=INT8, delivery_count=INT16)
_DELIVERY_COMPLETE_COUNT = tagged(0, INT32, default=-1)

SHARE_SNAPSHOT = flexible(
    "ShareSnapshotValue",
    snapshot_epoch=INT32,
    state_epoch=INT32,
    leader_epoch=INT32,
    start_offset=INT64,
    delivery_complete_count=_DELIVERY_COMPLETE_COUNT,
    create_timestamp_ms=INT64,
    write_timestamp_ms=INT64,
    state_batches=array_of(STATE_BATCH),
)
SHARE_UPDATE = flexible(
    "ShareUpdateValue",
    snapshot_epoch=INT32,
    leader_epoch=INT32,
    start_offset=INT64,
    delivery_complete_count=_DELIVERY_COMPLETE_COUNT,
    state_batches=array_of(STATE_BATCH),
)
