"""The expected result, computed with pandas from the source files. The pipeline's result must equal it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from attrs import frozen

from kafka_groups.cli.demo.pipeline.delays import (
    FAIR,
    FOG_MILES,
    FOGGY,
    UNKNOWN,
    WET,
    WIND_MILES_PER_HOUR,
    WINDY,
    DelayTable,
    delay_table_of,
)
from kafka_groups.cli.demo.pipeline.enrichment import ENRICHED, FLIGHT_KEY, MEASURED, type_of
from kafka_groups.cli.demo.pipeline.sources import FLIGHT_COLUMNS, FLIGHTS, REFERENCE_COLUMNS, source_file

__all__ = ["Plainly", "computed_plainly", "in_order"]

_PANDAS_TYPES: Mapping[pa.DataType, str] = MappingProxyType({
    pa.string(): "object",
    pa.float64(): "float64",
    pa.int32(): "Int32",
})  # fmt: skip


@frozen
class Plainly:
    """The results of a computation without Kafka and Spark.

    Attributes:
        flights: All enriched flights, with the columns of `ENRICHED`, in order.
        delays: The final table.
    """

    flights: pa.Table
    delays: DelayTable


def computed_plainly(limit: int | None) -> Plainly:
    """Read the source files with pandas, join and sum up.

    Args:
        limit: Use only this many flights, from the start of the file.
    """
    flights = _enriched(_read(FLIGHTS, FLIGHT_COLUMNS, limit))
    table = pa.Table.from_pandas(flights[ENRICHED.names], schema=ENRICHED, preserve_index=False)
    return Plainly(in_order(table), _delays_of(flights))


def in_order(flights: pa.Table) -> pa.Table:
    """Return flights with the columns and types of `ENRICHED`, sorted by key, so that tables can be compared."""
    ordered = flights.select(ENRICHED.names).cast(ENRICHED).sort_by([(name, "ascending") for name in FLIGHT_KEY])
    return ordered.replace_schema_metadata(None).combine_chunks()


def _enriched(flights: pd.DataFrame) -> pd.DataFrame:
    airlines, airports, weather = (_read(name, columns) for name, columns in REFERENCE_COLUMNS.items())
    names = airports[["faa", "name"]]
    return (
        flights.merge(airlines.rename(columns={"name": "airline"}), how="left", on="carrier")
        .merge(names.rename(columns={"faa": "origin", "name": "origin_airport"}), how="left", on="origin")
        .merge(names.rename(columns={"faa": "dest", "name": "dest_airport"}), how="left", on="dest")
        .merge(weather[["origin", "time_hour", *MEASURED]], how="left", on=["origin", "time_hour"])
    )


def _read(table: str, columns: tuple[str, ...], limit: int | None = None) -> pd.DataFrame:
    options: dict[str, Any] = {
        "dtype": {name: _PANDAS_TYPES[type_of(name)] for name in columns if name != "time_hour"},
        "keep_default_na": False,
        "na_values": ["NA"],
        "float_precision": "round_trip",  # other parsers may differ in the last digit
    }
    frame: pd.DataFrame = pd.read_csv(source_file(table), nrows=limit, **options)
    if "time_hour" in columns:
        frame["time_hour"] = pd.to_datetime(frame["time_hour"], utc=True)
    return frame


def _delays_of(flights: pd.DataFrame) -> DelayTable:
    conditions = [
        flights["visib"].isna(),
        flights["precip"] > 0,
        flights["visib"] < FOG_MILES,
        flights["wind_speed"] >= WIND_MILES_PER_HOUR,
    ]
    weather = np.select(conditions, [UNKNOWN, WET, FOGGY, WINDY], FAIR)
    groups: Any = flights.assign(weather=weather).groupby(["airline", "weather"], dropna=False)
    sums = groups.agg(
        flights=("carrier", "size"),
        departed=("dep_delay", "count"),
        departure_delay=("dep_delay", "sum"),
        arrived=("arr_delay", "count"),
        arrival_delay=("arr_delay", "sum"),
    )
    return delay_table_of(sums.reset_index().to_dict("records"))
