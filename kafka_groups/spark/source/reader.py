"""The stream reader that Spark calls, in the source runner and, for `read`, in the tasks.

Spark creates readers in several processes and pickles some for its tasks, so creating one does nothing. The first call
in the source runner imports the modules that join the group, so tasks load only pyarrow.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.records.schema import RECORD_DDL, RECORD_SCHEMA
from kafka_groups.spark.source.rules.micro_batches import BatchLimits

if TYPE_CHECKING:
    from kafka_groups.spark.source.source import ShareSource

__all__ = ["PayloadPartition", "ShareStreamReader"]


class PayloadPartition(InputPartition):
    """An input partition that carries its records: `value` is an Arrow IPC stream."""


class ShareStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a share group for one streaming query; only Spark calls it.

    Args:
        options: The query's options.
        schema: The columns that Spark wants.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = dict(options)
        self._schema = schema
        self._source: ShareSource | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What is pickled goes to tasks, which decode and do nothing else: no options there, as they may hold secrets.
        return {"_options": {}, "_schema": self._schema, "_source": None}

    # ------------------------------------------------------------------------------------- the runner

    def initialOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Return where a query without a checkpoint starts."""
        return self._started().initial_offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of the options; triggers may override it."""
        return ReadMaxRows(self._started().options.max_records_per_batch)

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Acknowledge the batch that Spark has finished, and seal the next one."""
        source = self._started()
        most_bytes = source.options.max_bytes_per_batch
        # The trigger's limit and that of the options hold together: the smaller one counts, because Spark's driver has
        # the whole batch in memory.
        if isinstance(limit, ReadMaxBytes):
            most_bytes = min(most_bytes, limit.max_bytes)
        limits = BatchLimits(limit.max_rows if isinstance(limit, ReadMaxRows) else None, most_bytes)
        return source.latest_offset(start, limits, wants_all=isinstance(limit, ReadAllAvailable))

    def reportLatestOffset(self) -> dict[str, object]:  # noqa: N802 - Spark's name
        """Return counts and lag for the progress of the query."""
        return self._started().report()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read only the records that are available now."""
        self._started().prepare_available_now()

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[PayloadPartition]:
        """Return the records of a batch; none for a batch of an earlier run, whose records are redelivered."""
        return [PayloadPartition(payload) for payload in self._started().payloads(start, end)]

    def commit(self, end: dict[str, object]) -> None:
        """Do nothing: Spark calls this late or never; see `latestOffset`."""

    def stop(self) -> None:
        """Release the records that Spark did not finish, and leave the group."""
        if self._source is not None:
            self._source.close()

    def _started(self) -> "ShareSource":
        if self._source is None:
            from kafka_groups.spark.source.process import source_of_this_process  # noqa: PLC0415 - see above

            self._source = source_of_this_process(self._options, _columns(self._schema))
        return self._source

    # -------------------------------------------------------------------------------------- the tasks

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the record batches of an input partition."""
        with pa.ipc.open_stream(partition.value) as stream:
            yield from stream


def _columns(schema: StructType) -> tuple[str, ...]:
    """Return the names of the columns that Spark wants.

    Raises:
        ConfigurationError: The schema is not made of the source's columns.
    """
    types = {field.name: from_arrow_type(field.type) for field in RECORD_SCHEMA}
    for wanted in schema:
        if types.get(wanted.name) != wanted.dataType:
            raise ConfigurationError(
                f"the schema has {wanted.name} {wanted.dataType.simpleString()}, which is not a column of the source"
                f" kafka-share; leave the schema out, or take some of: {RECORD_DDL}"
            )
    return tuple(schema.fieldNames())
