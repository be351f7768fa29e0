"""What a record is in Arrow and in Spark: the same columns wherever records come from a share group."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

__all__ = ["HEADER_TYPE", "RECORD_DDL", "RECORD_KEY", "RECORD_SCHEMA", "TIMESTAMP_TYPE", "ddl_of"]

RECORD_KEY: Final = ("topic", "partition", "offset")
"""The columns that identify a record; a record that was delivered twice has them twice."""

TIMESTAMP_TYPE: Final = pa.timestamp("us", tz="UTC")
"""Spark's timestamps have microseconds, Kafka's milliseconds."""

HEADER_TYPE: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
"""The headers of a record in the producer's order; a key may come twice."""

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
"""The columns of a record. Spark compares the types exactly, so they are these and no others that hold as much.

`timestamp` is null when the producer gave none; `timestampType` is 0 if the producer set it and 1 if the broker did, as
in Spark's own Kafka source; `delivery_count` counts this delivery too (KIP-932). Duplicates
are removed by `RECORD_KEY`.
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
    """Some columns of `RECORD_SCHEMA` in Spark's spelling."""
    return ", ".join(f"{name} {_SPELLED[name]}" for name in columns)


RECORD_DDL: Final = ddl_of(RECORD_SCHEMA.names)
"""`RECORD_SCHEMA` in Spark's spelling."""
