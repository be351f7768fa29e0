"""Send a batch through Spark as Arrow IPC streams in input partitions: the same bytes in each evaluation."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from kafka_groups.spark.source.pieces import TablePiece, rows_within

__all__ = ["MAX_BATCH_BYTES", "MAX_PARTITION_BYTES", "payloads"]

MAX_PARTITION_BYTES = 8 * 1024 * 1024
"""The most bytes in one input partition, except for a single larger record. Spark's driver holds the whole batch."""

MAX_BATCH_BYTES = 64 * 1024 * 1024
"""The most bytes in all partitions of a batch together."""

_MIN_PARTITION_ROWS = 500


def payloads(pieces: Sequence[TablePiece], columns: Sequence[str], partitions: int) -> list[bytes]:
    """Return the records of a batch as Arrow IPC streams, one for each input partition.

    Args:
        pieces: The records.
        columns: The columns and their order.
        partitions: The number of input partitions; fewer if there are few records, more if they are large.
    """
    if not pieces:
        return []
    table = pa.concat_tables([piece.table.select(columns) for piece in pieces])
    wanted = max(1, min(partitions, table.num_rows // _MIN_PARTITION_ROWS))
    return [_encoded(part) for part in _parts(table, math.ceil(table.num_rows / wanted))]


def _parts(table: Any, rows_wanted: int) -> Iterator[Any]:
    start = 0
    while start < table.num_rows:
        part = table.slice(start, rows_wanted)
        part = part.slice(0, max(1, rows_within(part, MAX_PARTITION_BYTES)))
        yield part
        start += part.num_rows


def _encoded(part: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, part.schema) as stream:
        stream.write_table(part.combine_chunks())
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
