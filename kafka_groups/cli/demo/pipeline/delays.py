"""The final table, delays by airline and weather: how Spark makes it, and how it is computed plainly.

The two share nothing but the meaning: one is Spark's SQL over the deduplicated files of the workers, the other is
pandas over the source files. All figures are whole minutes and counts, so that they agree exactly or not at all.
"""

from collections.abc import Iterable, Mapping
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from attrs import astuple, fields, frozen

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.pipeline.enrichment import ENRICHED, FLIGHT_KEY, type_of
from kafka_groups.cli.demo.pipeline.sources import FLIGHT_COLUMNS, FLIGHTS, REFERENCE_COLUMNS, source_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["DelayTable", "Plainly", "computed_plainly", "delay_table_of", "delays_by_spark", "in_order", "rolled_up"]

DelayTable = Mapping[tuple[str, str], Delays]
"""Delays by airline and weather."""

WET = "rain or snow"
FOGGY = "poor visibility"
WINDY = "strong wind"
FAIR = "fair"
UNKNOWN = "not known"

_MEASURED = ("temp", "wind_speed", "precip", "visib")
_PANDAS_TYPES: Mapping[pa.DataType, str] = MappingProxyType({
    pa.string(): "object",
    pa.float64(): "float64",
    pa.int32(): "Int32",
})  # fmt: skip

_FOG_MILES = 3
_WIND_MILES_PER_HOUR = 20

_WEATHER = f"""
CASE WHEN visib IS NULL THEN '{UNKNOWN}'
     WHEN precip > 0 THEN '{WET}'
     WHEN visib < {_FOG_MILES} THEN '{FOGGY}'
     WHEN wind_speed >= {_WIND_MILES_PER_HOUR} THEN '{WINDY}'
     ELSE '{FAIR}' END AS weather
"""


_SUMS = (
    "count(1) AS flights",
    "count(dep_delay) AS departed",
    "coalesce(sum(dep_delay), 0) AS departure_delay",
    "count(arr_delay) AS arrived",
    "coalesce(sum(arr_delay), 0) AS arrival_delay",
)


def delays_by_spark(flights: "DataFrame") -> "DataFrame":
    """One row for each airline and weather, with the columns of `Delays`."""
    from pyspark.sql import functions  # noqa: PLC0415 - in the driver only, where Spark is loaded anyway

    seen = flights.selectExpr("airline", _WEATHER, "dep_delay", "arr_delay")
    return seen.groupBy("airline", "weather").agg(*map(functions.expr, _SUMS))


def delay_table_of(rows: Iterable[Mapping[str, Any]]) -> DelayTable:
    """The table out of rows with the columns that `delays_by_spark` makes."""
    columns = [field.name for field in fields(Delays)]
    return {(row["airline"], row["weather"]): Delays(*(int(row[name]) for name in columns)) for row in rows}


def rolled_up(table: DelayTable, position: int) -> dict[str, Delays]:
    """The sums by airline (0) or by weather (1)."""
    sums: dict[str, Delays] = {}
    for key, delays in table.items():
        before = sums.get(key[position], Delays())
        sums[key[position]] = Delays(*map(add, astuple(before), astuple(delays)))
    return sums


# ------------------------------------------------------------------------------------------- the plain computation


@frozen
class Plainly:
    """What comes out without Kafka and Spark.

    Attributes:
        flights: Every flight with what was looked up, as a table of `ENRICHED`, in order.
        delays: The final table.
    """

    flights: pa.Table
    delays: DelayTable


def computed_plainly(limit: int | None) -> Plainly:
    """Read the source files with pandas, join and sum up.

    Args:
        limit: Take only the first so many flights.
    """
    flights = _enriched(_read(FLIGHTS, FLIGHT_COLUMNS, limit))
    table = pa.Table.from_pandas(flights[ENRICHED.names], schema=ENRICHED, preserve_index=False)
    return Plainly(in_order(table), _delays_of(flights))


def in_order(flights: pa.Table) -> pa.Table:
    """Flights with the columns and types of `ENRICHED`, by their key: equal tables are equal then."""
    ordered = flights.select(ENRICHED.names).cast(ENRICHED).sort_by([(name, "ascending") for name in FLIGHT_KEY])
    return ordered.replace_schema_metadata(None).combine_chunks()


def _enriched(flights: pd.DataFrame) -> pd.DataFrame:
    airlines, airports, weather = (_read(name, columns) for name, columns in REFERENCE_COLUMNS.items())
    names = airports[["faa", "name"]]
    return (
        flights.merge(airlines.rename(columns={"name": "airline"}), how="left", on="carrier")
        .merge(names.rename(columns={"faa": "origin", "name": "origin_airport"}), how="left", on="origin")
        .merge(names.rename(columns={"faa": "dest", "name": "dest_airport"}), how="left", on="dest")
        .merge(weather[["origin", "time_hour", *_MEASURED]], how="left", on=["origin", "time_hour"])
    )


def _read(table: str, columns: tuple[str, ...], limit: int | None = None) -> pd.DataFrame:
    options: dict[str, Any] = {
        "dtype": {name: _PANDAS_TYPES[type_of(name)] for name in columns if name != "time_hour"},
        "keep_default_na": False,
        "na_values": ["NA"],
        "float_precision": "round_trip",  # other ways of reading may differ in the last digit
    }
    frame: pd.DataFrame = pd.read_csv(source_file(table), nrows=limit, **options)
    if "time_hour" in columns:
        frame["time_hour"] = pd.to_datetime(frame["time_hour"], utc=True)
    return frame


def _delays_of(flights: pd.DataFrame) -> DelayTable:
    conditions = [
        flights["visib"].isna(),
        flights["precip"] > 0,
        flights["visib"] < _FOG_MILES,
        flights["wind_speed"] >= _WIND_MILES_PER_HOUR,
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
