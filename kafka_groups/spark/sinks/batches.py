"""The input of a sink: a batch that can be converted to an Arrow table with the columns that identify its records."""

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import check_function
from kafka_groups.spark.records.schema import RECORD_KEY

__all__ = ["SinkBatch", "Transform", "check_conversion", "with_record_key"]

Transform = Callable[[pa.Table], pa.Table]
"""Converts the records of a batch to the rows to write; it keeps the columns of `RECORD_KEY`."""


class SinkBatch(Protocol):
    """The part of a `ShareBatch` that sinks use."""

    def to_arrow(self) -> pa.Table:
        """Return the records as a table with the columns of `RECORD_SCHEMA`."""
        ...


def check_conversion(name: str, function: object) -> None:
    """Check a function that converts the records of a batch.

    Args:
        name: The name of the argument.
        function: The argument to check; None is allowed.

    Raises:
        ConfigurationError: It is not an ordinary function of one argument.
    """
    if function is not None:
        remedy = "write an ordinary function that returns the converted records"
        check_function(name, function, "a function of the Arrow table of records", arguments=1, remedy=remedy)


def with_record_key(table: pa.Table, what: str) -> pa.Table:
    """Return the table if it has the columns that identify the record of each row.

    Args:
        table: The rows to write.
        what: The sink or function, for the message.

    Raises:
        ConfigurationError: A column of `RECORD_KEY` is missing.
    """
    missing = [name for name in RECORD_KEY if name not in table.column_names]
    if missing:
        raise ConfigurationError(
            f"{what} was given columns {', '.join(table.column_names)} without {', '.join(missing)}; keep topic, "
            "partition and offset, since only they tell which rows are of the same record"
        )
    return table
