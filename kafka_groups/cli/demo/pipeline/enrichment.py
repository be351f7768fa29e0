"""Enriches flights with the names of airline and airports and the weather at departure, as Arrow tables.

This code runs in Spark's Python workers. It processes a whole batch at a time, without a loop over records.
"""

import functools
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen
from pyarrow import csv

from kafka_groups.cli.demo.pipeline.sources import FLIGHT_COLUMNS, REFERENCE_COLUMNS
from kafka_groups.spark.records.schema import RECORD_KEY

__all__ = ["ENRICHED", "FLIGHT_KEY", "MEASURED", "Enrich", "Reference", "enriched", "parsed", "type_of"]

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = frozenset({"carrier", "tailnum", "origin", "dest", "faa", "name", "dst", "tzone"})
_REALS = frozenset(
    {"lat", "lon", "temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib", "tz"}
)
MEASURED = ("temp", "wind_speed", "precip", "visib")
"""The columns of the weather that each flight gets."""

_LOOKED_UP: Mapping[str, pa.DataType] = MappingProxyType({
    "airline": pa.string(),
    "origin_airport": pa.string(),
    "dest_airport": pa.string(),
    **dict.fromkeys(MEASURED, pa.float64()),
})  # fmt: skip


def type_of(column: str) -> pa.DataType:
    """Return the type of a column of the source files."""
    if column == "time_hour":
        return _TIME
    if column in _TEXTS:
        return pa.string()
    return pa.float64() if column in _REALS else pa.int32()


ENRICHED = pa.schema([*((name, type_of(name)) for name in FLIGHT_COLUMNS), *_LOOKED_UP.items()])
"""The columns of an enriched flight. A value is null if the source says NA or has no data."""

FLIGHT_KEY = ("time_hour", "carrier", "flight", "origin")
"""The columns that identify a flight."""


def parsed(values: Sequence[bytes], columns: Sequence[str]) -> pa.Table:
    """Parse lines of a CSV file, without its header, and return a table in the same order."""
    convert = csv.ConvertOptions(
        column_types={name: type_of(name) for name in columns}, null_values=["NA"], strings_can_be_null=True
    )
    read = csv.ReadOptions(column_names=list(columns), use_threads=False)
    return csv.read_csv(io.BytesIO(b"\n".join(values)), read_options=read, convert_options=convert)


@frozen
class Reference:
    """The tables that flights are enriched with."""

    airlines: pa.Table
    airports: pa.Table
    weather: pa.Table

    @classmethod
    def of_lines(cls, lines: Mapping[str, Sequence[bytes]]) -> "Reference":
        """Return the tables for the records of their topics, by table name."""
        return cls(**{name: parsed(lines[name], columns) for name, columns in REFERENCE_COLUMNS.items()})

    def save(self, directory: Path) -> None:
        """Write the tables to a directory atomically: it exists with all files or not at all."""
        begun = directory.with_name(f".{directory.name}.tmp")
        begun.mkdir(parents=True, exist_ok=True)
        for name in REFERENCE_COLUMNS:
            pq.write_table(getattr(self, name), begun / f"{name}.parquet")
        begun.rename(directory)

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def load(directory: Path) -> "Reference":
        """Load the tables from their files, once per process."""
        return Reference(**{name: pq.read_table(directory / f"{name}.parquet") for name in REFERENCE_COLUMNS})


@frozen
class Enrich:
    """Turns records into enriched flights. It is sent to the workers, and loads the reference tables there."""

    reference: Path

    def __call__(self, records: pa.Table) -> pa.Table:
        """Return the enriched flights, with topic, partition, offset and delivery count."""
        flights = enriched(parsed(records["value"].to_pylist(), FLIGHT_COLUMNS), Reference.load(self.reference))
        for name in reversed((*RECORD_KEY, "delivery_count")):
            flights = flights.add_column(0, records.schema.field(name), records[name])
        return flights


def enriched(flights: pa.Table, reference: Reference) -> pa.Table:
    """Return the flights with the columns of `ENRICHED`."""
    at_departure = pc.index_in(_place_and_hour(flights), value_set=_place_and_hour(reference.weather))
    names, codes = reference.airports["name"], reference.airports["faa"]
    airline = pc.index_in(flights["carrier"], value_set=reference.airlines["carrier"])
    columns = {
        "airline": reference.airlines["name"].take(airline),
        "origin_airport": names.take(pc.index_in(flights["origin"], value_set=codes)),
        "dest_airport": names.take(pc.index_in(flights["dest"], value_set=codes)),
        **{name: reference.weather[name].take(at_departure) for name in MEASURED},
    }
    for name, column in columns.items():
        flights = flights.append_column(ENRICHED.field(name), column)
    return flights


def _place_and_hour(table: pa.Table) -> pa.ChunkedArray:
    hour = pc.cast(pc.cast(table["time_hour"], pa.int64()), pa.string())
    return pc.binary_join_element_wise(table["origin"], hour, " ")
