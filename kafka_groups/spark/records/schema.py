"""The columns of a record in Arrow and in Spark, the same for workers, source and drain."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

__all__ = ["HEADER_TYPE", "RECORD_DDL", "RECORD_KEY", "RECORD_SCHEMA", "TIMESTAMP_TYPE", "ddl_of"]

RECORD_KEY: Final = ("topic", "partition", "offset")
"""The columns that identify a record. Both deliveries of a redelivered record have the same values."""

TIMESTAMP_TYPE: Final = pa.timestamp("us", tz="UTC")
"""Spark's timestamps have microseconds, Kafka's have milliseconds."""

HEADER_TYPE: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
"""The headers of a record in the producer's order; a key may be repeated."""

RECORD_SCHEMA: Final = pa.schema([
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", TIMESTAMP_TYPE),
    pa.field("timestampType", pa.int32()),
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("headers", HEADER_TYPE),
    pa.field("delivery_count", pa.int16()),
])  # fmt: skip
"""The columns of a record. Spark compares the types exactly, so no others work.

`timestamp` is null if the producer did not set it. `timestampType` is 0 if the producer set it and 1 if the broker did,
as in Spark's own Kafka source. `delivery_count` includes this delivery (KIP-932). `RECORD_KEY` identifies duplicates.
"""

_SPELLED: Final = {
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "timestampType": "INT",
    "key": "BINARY",
    "value": "BINARY",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
    "delivery_count": "SMALLINT",
}


def ddl_of(columns: Sequence[str]) -> str:
    """Return some columns of `RECORD_SCHEMA` as a Spark schema."""
    return ", ".join(f"{name} {_SPELLED[name]}" for name in columns)


RECORD_DDL: Final = ddl_of(RECORD_SCHEMA.names)
"""`RECORD_SCHEMA` as a Spark schema."""
