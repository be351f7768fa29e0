"""Record tables for tests of sinks, and a batch that is nothing but one."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from attrs import frozen

from kafka_groups.spark.schema import RECORD_SCHEMA

__all__ = ["Batch", "record_table"]


@frozen
class Batch:
    """What a sink needs of a batch."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.table


def record_table(
    offsets: Iterable[int],
    *,
    topic: str = "t",
    partition: int = 0,
    delivery_count: int = 1,
    values: Sequence[bytes] | None = None,
) -> pa.Table:
    """Records at the offsets; the value of each is its offset unless said otherwise."""
    rows: list[dict[str, Any]] = [
        {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp": datetime.fromtimestamp(offset, tz=UTC),
            "key": b"k%d" % offset,
            "value": b"%d" % offset,
            "headers": [{"key": "h", "value": b"x"}],
            "delivery_count": delivery_count,
        }
        for offset in offsets
    ]
    for row, value in zip(rows, values or [], strict=False):
        row["value"] = value
    return pa.Table.from_pylist(rows, schema=RECORD_SCHEMA)
