"""What the Python workers of Spark run: they count, and that is all."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

COUNT_DDL = "records long"


def count_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow`: one row for each task, the number of its records."""
    records = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"records": pa.array([records], pa.int64())})


def count_table(batch: Any) -> None:
    """For `ShareWorkers`: all columns as Arrow, as Spark's own source gives them to `mapInArrow`."""
    table = batch.to_arrow()
    assert table.num_rows == len(batch)
