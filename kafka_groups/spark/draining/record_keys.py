"""Find records in a table by topic, partition and offset."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.records.schema import RECORD_KEY, RECORD_SCHEMA

__all__ = ["keys_table", "mask_of_keys"]

_SCHEMA = pa.schema([RECORD_SCHEMA.field(name) for name in RECORD_KEY])


def keys_table(keys: object) -> pa.Table | None:
    """Return keys as a table, from a table or DataFrame with the three columns or from tuples; None for other types.

    A Spark DataFrame is collected.

    Raises:
        ConfigurationError: The table or DataFrame lacks one of these columns.
    """
    named = getattr(keys, "columns", None)
    if not isinstance(keys, pa.Table | pa.RecordBatch) and named is not None:
        names = [str(name) for name in named]
        _check_columns(keys, names)
        keys = _of_frame(keys)
    if isinstance(keys, pa.Table | pa.RecordBatch):
        _check_columns(keys, keys.schema.names)
        return pa.table({name: keys[name] for name in RECORD_KEY}).cast(_SCHEMA)
    return _of_tuples(keys)


def _of_frame(frame: Any) -> pa.Table:
    chosen = frame.select(*RECORD_KEY) if hasattr(frame, "toArrow") else frame[list(RECORD_KEY)]
    return chosen.toArrow() if hasattr(chosen, "toArrow") else pa.Table.from_pandas(chosen, preserve_index=False)


def _check_columns(keys: object, names: Iterable[str]) -> None:
    missing = [name for name in RECORD_KEY if name not in names]
    if missing:
        raise ConfigurationError(f"{type(keys).__name__} without {', '.join(missing)}: records are named by {_NAMED}")


def _of_tuples(keys: object) -> pa.Table | None:
    if not isinstance(keys, list | tuple | set | frozenset):
        return None
    rows = list(keys)
    if not rows or not all(isinstance(row, tuple) and len(row) == len(RECORD_KEY) for row in rows):
        return None
    try:
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise ConfigurationError(f"keys are tuples of {_NAMED}: {error}") from error
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


_NAMED = "topic, partition and offset"


def mask_of_keys(table: pa.Table, keys: pa.Table) -> Any:
    """Return one boolean for each row of a table: whether it has one of the keys.

    Args:
        table: A table with the columns topic, partition and offset.
        keys: A table with only these columns; keys may be repeated.

    Raises:
        ConfigurationError: A key matches no row.
    """
    mask = np.zeros(table.num_rows, np.bool_)
    unknown = 0
    for wanted in pa.Table.group_by(keys, ["topic", "partition"]).aggregate([("offset", "distinct")]).to_pylist():
        of_partition = pc.and_(
            pc.equal(table["topic"], wanted["topic"]), pc.equal(table["partition"], wanted["partition"])
        )
        rows = np.flatnonzero(of_partition.to_numpy())
        offsets = table["offset"].to_numpy()[rows]
        chosen = np.isin(offsets, wanted["offset_distinct"])
        unknown += len(wanted["offset_distinct"]) - len(np.unique(offsets[chosen]))
        mask[rows[chosen]] = True
    if unknown:
        raise ConfigurationError(f"{unknown} of the keys name no record here")
    return mask
