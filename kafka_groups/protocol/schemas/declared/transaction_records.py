"""Schemas of the records in `__transaction_state`, as in Kafka 4.4 (KIP-98, KIP-890)."""

from kafka_groups.protocol.schemas.declaring import (
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    array_of,
    fixed,
    flexible,
    nullable,
    tagged,
)

TRANSACTIONAL_ID_KEY = fixed("TransactionLogKey", transactional_id=STRING)
"""Key of the only type (0)."""

_PARTITIONS_0 = fixed("PartitionsSchema", topic=STRING, partition_ids=array_of(INT32))
TRANSACTION_0 = fixed(
    "TransactionLogValue",
    producer_id=INT64,
    producer_epoch=INT16,
    transaction_timeout_ms=INT32,
    transaction_status=INT8,
    transaction_partitions=nullable(array_of(_PARTITIONS_0)),
    transaction_last_update_timestamp_ms=INT64,
    transaction_start_timestamp_ms=INT64,
)
_PARTITIONS_1 = flexible("PartitionsSchema", 1, topic=STRING, partition_ids=array_of(INT32))
TRANSACTION_1 = flexible(
    "TransactionLogValue",
    1,
    producer_id=INT64,
    previous_producer_id=tagged(0, INT64, default=-1),
    next_producer_id=tagged(1, INT64, default=-1),
    client_transaction_version=tagged(2, INT16, default=0),
    next_producer_epoch=tagged(3, INT16, default=-1),
    producer_epoch=INT16,
    transaction_timeout_ms=INT32,
    transaction_status=INT8,
    transaction_partitions=nullable(array_of(_PARTITIONS_1)),
    transaction_last_update_timestamp_ms=INT64,
    transaction_start_timestamp_ms=INT64,
)
